package draws

import "fmt"

// Part describes a parameter of draws, which have type T. If Count is set, the Part describes Count
// parameters with one name, numbered from 1. Of returns the value of a parameter in a draw. A
// parameter is 0 in draws without it.
type Part[T any] struct {
	Name  string
	Count int
	Of    func(draw T, number int) float64
}

// Fill adds the coordinates of parts to the header of d, and their values in each draw of a list.
func Fill[T any](d *Draws, list []T, parts []Part[T]) {
	for _, part := range parts {
		if part.Count == 0 {
			d.Coordinates, d.Variables = append(d.Coordinates, part.Name), append(d.Variables, part.Name)
		}
		for j := range part.Count {
			d.Coordinates, d.Variables = append(d.Coordinates, fmt.Sprintf("%s %d", part.Name, j+1)), append(d.Variables, fmt.Sprintf("%s[%d]", part.Name, j+1))
		}
	}
	for _, draw := range list {
		for _, part := range parts {
			for j := range max(part.Count, 1) {
				d.Theta = append(d.Theta, part.Of(draw, j))
			}
		}
	}
}

// Each returns a function for the field named Of of a Part with a Count. The argument list returns
// the elements of a draw, and the argument value returns the parameter of an element.
func Each[T, E any](list func(draw T) []E, value func(element E) float64) func(draw T, number int) float64 {
	return func(draw T, number int) float64 {
		if elements := list(draw); number < len(elements) {
			return value(elements[number])
		}
		return 0
	}
}
