package main

import (
	"encoding"
	"fmt"
	"math"
	"strconv"
)

// positive is a flag that takes a finite number above zero.
type positive float64

func (v *positive) Set(s string) error {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x > 0) || math.IsInf(x, 1) {
		return fmt.Errorf("expected a positive number, found %q", s)
	}
	*v = positive(x)
	return nil
}

func (v *positive) String() string {
	if *v == 0 {
		return "" // not given
	}
	return strconv.FormatFloat(float64(*v), 'g', -1, 64)
}

func (v *positive) Type() string { return "number" }

// scale is a flag that takes a positive number or "unknown", which is zero.
type scale struct {
	value   float64
	unknown bool
}

func (v *scale) Set(s string) error {
	*v = scale{unknown: s == "unknown"}
	if v.unknown {
		return nil
	}
	if (*positive)(&v.value).Set(s) != nil {
		return fmt.Errorf("expected a positive number or unknown, found %q", s)
	}
	return nil
}

func (v *scale) String() string {
	if v.unknown {
		return "unknown"
	}
	return (*positive)(&v.value).String()
}

func (v *scale) Type() string { return "number" }

// count is a flag that takes a whole number of at least least.
type count struct {
	value *int
	least int
}

func (v count) Set(s string) error {
	x, err := strconv.Atoi(s)
	if err != nil || x < v.least {
		return fmt.Errorf("expected a whole number from %d, found %q", v.least, s)
	}
	*v.value = x
	return nil
}

func (v count) String() string {
	if v.value == nil || *v.value == 0 && v.least > 0 {
		return "" // not given
	}
	return strconv.Itoa(*v.value)
}

func (v count) Type() string { return "count" }

// textual is a flag of a type that reads its own text.
type textual struct {
	value interface {
		fmt.Stringer
		encoding.TextUnmarshaler
	}
}

func (v textual) Set(s string) error { return v.value.UnmarshalText([]byte(s)) }

func (v textual) String() string {
	if v.value == nil {
		return ""
	}
	return v.value.String()
}

func (v textual) Type() string { return "name" }

// parsed is a flag whose text a function of another package reads.
type parsed[T fmt.Stringer] struct {
	value *T
	parse func(string) (T, error)
}

func (v parsed[T]) Set(s string) (err error) {
	x, err := v.parse(s)
	if err == nil {
		*v.value = x
	}
	return err
}

func (v parsed[T]) String() string {
	if v.value == nil {
		return ""
	}
	return (*v.value).String()
}

func (v parsed[T]) Type() string { return "name" }

// sizeLimit is a flag that takes a whole number from 1, or none, which is negative.
type sizeLimit int

const noLimit sizeLimit = -1

func (v *sizeLimit) Set(s string) error {
	if s == "none" {
		*v = noLimit
		return nil
	}
	x, err := strconv.Atoi(s)
	if err != nil || x < 1 {
		return fmt.Errorf("expected a whole number from 1, or none, found %q", s)
	}
	*v = sizeLimit(x)
	return nil
}

func (v *sizeLimit) String() string {
	switch *v {
	case 0:
		return "" // not given
	case noLimit:
		return "none"
	}
	return strconv.Itoa(int(*v))
}

func (v *sizeLimit) Type() string { return "number" }
