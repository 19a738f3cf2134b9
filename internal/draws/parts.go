package draws

import "fmt"

// Part is a parameter of draws of type T or, with a Count, so many of one name with numbers from 1,
// of which a draw may have fewer: the others are 0.
type Part[T any] struct {
	Name  string
	Count int
	Of    func(draw T, number int) float64
}

// Fill adds the coordinates of parts to the header, and their values in a list of draws.
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

// Each is the Of of numbers that draws have lists of: value is that of an element.
func Each[T, E any](list func(draw T) []E, value func(element E) float64) func(draw T, number int) float64 {
	return func(draw T, number int) float64 {
		if elements := list(draw); number < len(elements) {
			return value(elements[number])
		}
		return 0
	}
}
