package main

import (
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/graphs"
	"github.com/transdim/vti/cmd/internal/hierarchies"
	"github.com/transdim/vti/cmd/internal/numbers"
	"github.com/transdim/vti/cmd/internal/selection"
)

// applications holds all applications of vti. All other code finds an application in this list.
var applications = application.Registry{
	selection.Application(), graphs.Application(), hierarchies.Application(), numbers.Mixtures(), numbers.Changes(), numbers.Orders(),
}
