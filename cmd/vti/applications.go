package main

import (
	"github.com/transdim/vti/cmd/internal/application"
	"github.com/transdim/vti/cmd/internal/graphs"
	"github.com/transdim/vti/cmd/internal/hierarchies"
	"github.com/transdim/vti/cmd/internal/numbers"
	"github.com/transdim/vti/cmd/internal/selection"
)

// applications are all applications that vti has: only they are named here, and only here.
var applications = application.Registry{
	selection.Application(), graphs.Application(), hierarchies.Application(), numbers.Mixtures(), numbers.Changes(), numbers.Orders(),
}
