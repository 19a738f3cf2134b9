package frame

// SDName names the standard deviation of a column's effects, which vary by a group.
func SDName(column, group string) string { return "sd(" + column + " | " + group + ")" }

// CorrelationName returns the name of the correlation of the effects of two columns.
func CorrelationName(a, b, group string) string { return "cor(" + a + ", " + b + " | " + group + ")" }

// SpreadName returns the name of the standard deviation of the effects of a column.
func (g *Grouping) SpreadName(c Column) string {
	if g.Smooth {
		return "sd(" + g.Name + ")"
	}
	return SDName(c.Name, g.Name)
}
