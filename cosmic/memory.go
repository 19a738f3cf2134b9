package cosmic

// Weights returns the approximate number of weights of the flow, as a float64 because it may be too
// large for an integer.
func (c Config) Weights() float64 {
	if c = c.WithDefaults(); c.Placement != nil {
		c = c.larger()
	}
	dim, hidden, layers := float64(c.Dim), float64(c.Hidden), float64(c.Layers)
	context := float64(c.context())
	total := 2*dim + float64(c.Embedding.Rows)*float64(c.Embedding.Width)
	width := float64(c.Embedding.context(c.Features))
	for _, next := range c.Encoder {
		total += (width + 1) * float64(next)
		width = float64(next)
	}
	if c.Kind == Diagonal {
		if c.Features == 0 {
			return total
		}
		return total + (context+1)*hidden + (layers-1)*(hidden+1)*hidden + 2*(hidden+1)*dim
	}
	first, block, heads := (dim+context+1)*hidden, (2*(hidden+1)+context)*hidden, (hidden+1)*dim*c.outputs()
	return total + layers*(first+float64(c.Blocks)*block+heads)
}

// RowNumbers returns the approximate number of values that training keeps for the gradient of one
// row of a batch.
func (c Config) RowNumbers() float64 {
	if c = c.WithDefaults(); c.Placement != nil {
		c = c.larger()
	}
	dim, hidden, layers := float64(c.Dim), float64(c.Hidden), float64(c.Layers)
	total := dim
	for _, width := range c.Encoder {
		total += float64(width)
	}
	if c.Kind == Diagonal {
		if c.Features == 0 {
			return total
		}
		return total + layers*hidden + 2*dim
	}
	return total + layers*((1+2*float64(c.Blocks))*hidden+dim*c.outputs())
}

func (c Config) outputs() (total float64) {
	var tau univariate = affine{}
	if c.Kind == Spline {
		tau = spline{bins: c.Bins}
	}
	for _, n := range tau.outputs() {
		total += float64(n)
	}
	return total
}
