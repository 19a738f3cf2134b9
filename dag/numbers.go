package dag

func square(x float64) float64 { return x * x }

// zeros is a matrix of zeros, [n][n].
func zeros(n int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, n)
	}
	return rows
}

func indicator(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
