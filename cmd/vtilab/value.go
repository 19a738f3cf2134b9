package main

import "fmt"

// parsed is a flag whose text is parsed by a function of another package.
type parsed[T fmt.Stringer] struct {
	Value *T
	Parse func(string) (T, error)
}

func (v parsed[T]) Set(s string) (err error) {
	x, err := v.Parse(s)
	if err == nil {
		*v.Value = x
	}
	return err
}

func (v parsed[T]) String() string {
	if v.Value == nil {
		return ""
	}
	return (*v.Value).String()
}

func (v parsed[T]) Type() string { return "name" }
