// Package picture draws statistical pictures once and writes them in two ways: as SVG inside an
// HTML page, whose colours follow the page (light, dark, print) and whose marks have tooltips, and
// as SVG and PNG files for print.
//
// A [Picture] is a list of lines, areas, dots and texts in points (1/72 inch), the origin at the
// upper left. Colours are roles ([Ink]), so that each format has its own palette. Every picture
// carries a text that describes it, for screen readers.
package picture
