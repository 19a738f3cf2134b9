package kernel

func tileKernels32(isa ISA) *tileKernels[float32] {
	type run = []tileKernel[float32]
	switch isa {
	case AVX2:
		return &tileKernels[float32]{lanes: 8, shapes: []tileShape[float32]{
			{6, run{tile6x1AVX2F32, tile6x2AVX2F32}},
			{4, run{tile4x1AVX2F32, tile4x2AVX2F32}},
			{2, run{tile2x1AVX2F32, tile2x2AVX2F32}},
			{1, run{tile1x1AVX2F32, tile1x2AVX2F32}},
		}}
	case AVX512:
		return &tileKernels[float32]{lanes: 16, shapes: []tileShape[float32]{
			{12, run{tile12x1AVX512F32, tile12x2AVX512F32}},
			{8, run{tile8x1AVX512F32, tile8x2AVX512F32}},
			{4, run{tile4x1AVX512F32, tile4x2AVX512F32}},
			{3, run{tile3x1AVX512F32, tile3x2AVX512F32}},
			{2, run{tile2x1AVX512F32, tile2x2AVX512F32}},
			{1, run{tile1x1AVX512F32, tile1x2AVX512F32}},
		}}
	}
	return nil
}

func tileKernels64(isa ISA) *tileKernels[float64] {
	type run = []tileKernel[float64]
	switch isa {
	case AVX2:
		return &tileKernels[float64]{lanes: 4, shapes: []tileShape[float64]{
			{6, run{tile6x1AVX2F64, tile6x2AVX2F64}},
			{4, run{tile4x1AVX2F64, tile4x2AVX2F64}},
			{2, run{tile2x1AVX2F64, tile2x2AVX2F64}},
			{1, run{tile1x1AVX2F64, tile1x2AVX2F64}},
		}}
	case AVX512:
		return &tileKernels[float64]{lanes: 8, shapes: []tileShape[float64]{
			{12, run{tile12x1AVX512F64, tile12x2AVX512F64}},
			{8, run{tile8x1AVX512F64, tile8x2AVX512F64}},
			{4, run{tile4x1AVX512F64, tile4x2AVX512F64}},
			{3, run{tile3x1AVX512F64, tile3x2AVX512F64}},
			{2, run{tile2x1AVX512F64, tile2x2AVX512F64}},
			{1, run{tile1x1AVX512F64, tile1x2AVX512F64}},
		}}
	}
	return nil
}
