package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
)

// tileVectors is the width of a tile of C in vectors.
const tileVectors = 2

// tileHeights returns the numbers of rows of tiles. The first one is as large as the registers
// allow: some registers hold the sums, tileVectors registers hold a row of B, and one or two hold
// elements of A. The smaller heights are for the last rows of a matrix.
func tileHeights(isa isa) []int {
	if isa == avx512 {
		return []int{12, 8, 4, 3, 2, 1}
	}
	return []int{6, 4, 2, 1}
}

// tiles generates the kernels of type tileKernel.
func tiles(isa isa) func(*build.Context) {
	return func(ctx *build.Context) {
		forBoth(ctx, isa, func(m *machine) {
			for _, rows := range tileHeights(isa) {
				for vectors := 1; vectors <= tileVectors; vectors++ {
					m.tile(rows, vectors)
				}
			}
		})
	}
}

// tileName returns the name of a kernel without its instruction set and type.
func tileName(rows, vectors int) string { return fmt.Sprintf("tile%dx%d", rows, vectors) }

// tile generates one kernel. A tile of C stays in registers during the loop over k. Each iteration
// of the loop adds a column of A times a row of B. A may have any strides, because it is read
// element by element.
func (m *machine) tile(rows, vectors int) {
	m.function(tileName(rows, vectors),
		fmt.Sprintf("is a tileKernel for %d rows and up to %d columns.", rows, vectors*m.lanes()),
		"(tiles, k int, a *T, aRow, aCol int, b *T, bRow int, c *T, cRow int, start *T, startRow, cols int, next *T, nextStep int)")

	tiles, a, c, start := m.param("tiles"), m.param("a"), m.param("c"), m.param("start")
	aRow, aCol, bRow := m.stride("aRow"), m.stride("aCol"), m.stride("bRow")

	next, nextStep := m.param("next"), m.stride("nextStep")

	m.Label("tile")
	sums := make([][]vec, rows)
	for i := range sums {
		for range vectors {
			sums[i] = append(sums[i], m.zero())
		}
	}
	m.TESTQ(start, start)
	m.JZ(jump("add"))
	last := m.lastColumns(vectors)
	ahead := m.copyOf(start)
	m.advance(ahead, m.stride("startRow"), rows)
	m.eachRow(start, "startRow", rows, func(i int, row gp) {
		for v, sum := range sums[i] {
			m.PREFETCHT0(m.at(ahead, v*m.lanes()))
			if v == vectors-1 {
				m.loadLanes(m.at(row, v*m.lanes()), last, sum)
			} else {
				m.load(m.at(row, v*m.lanes()), sum)
			}
		}
		m.ADDQ(m.stride("startRow"), ahead)
	})

	m.Label("add")
	groups := m.rowGroups(a, aRow, rows)
	b, k := m.param("b"), m.param("k")
	m.Label("term")
	row := make([]vec, vectors)
	for v := range row {
		row[v] = m.reg()
		m.load(m.at(b, v*m.lanes()), row[v])
	}
	for i := range sums {
		x := m.broadcast(groups.row(i, aRow))
		for v := range row {
			m.addMul(sums[i][v], x, row[v])
		}
	}
	for _, g := range groups {
		m.ADDQ(aCol, g)
	}
	m.PREFETCHT1(mem{Base: next})
	m.ADDQ(nextStep, next)
	m.ADDQ(bRow, b)
	m.DECQ(k)
	m.JNZ(jump("term"))

	last = m.lastColumns(vectors)
	m.eachRow(c, "cRow", rows, func(i int, row gp) {
		for v, sum := range sums[i] {
			if v == vectors-1 {
				m.storeLanes(sum, last, m.at(row, v*m.lanes()))
			} else {
				m.store(sum, m.at(row, v*m.lanes()))
			}
		}
	})

	m.advance(a, aRow, rows)
	m.advance(c, m.stride("cRow"), rows)
	m.TESTQ(start, start)
	m.JZ(jump("next"))
	m.advance(start, m.stride("startRow"), rows)
	m.Label("next")
	m.DECQ(tiles)
	m.JNZ(jump("tile"))
	m.end()
}

// lastColumns returns the mask of the lanes in use in the last vector of each row of a tile.
func (m *machine) lastColumns(vectors int) mask {
	cols := m.param("cols")
	m.SUBQ(number((vectors-1)*m.lanes()), cols)
	return m.firstLanes(cols)
}

// eachRow calls f with a pointer to each of the rows that start at base. The argument stride is the
// name of the parameter that holds the distance between rows.
func (m *machine) eachRow(base gp, stride string, rows int, f func(i int, row gp)) {
	row, step := m.copyOf(base), m.stride(stride)
	for i := range rows {
		f(i, row)
		if i < rows-1 {
			m.ADDQ(step, row)
		}
	}
}

// rowGroups holds pointers to every third row. The three rows of a group are at the pointer plus 0,
// 1 or 2 times the stride.
type rowGroups []gp

func (m *machine) rowGroups(base, stride gp, rows int) (g rowGroups) {
	g = rowGroups{m.copyOf(base)}
	for i := 3; i < rows; i += 3 {
		next := m.GP64()
		m.LEAQ(mem{Base: g[len(g)-1], Index: stride, Scale: 2}, next)
		m.ADDQ(stride, next)
		g = append(g, next)
	}
	return g
}

// row returns the address of the current element of row i.
func (g rowGroups) row(i int, stride gp) mem {
	if i%3 == 0 {
		return mem{Base: g[i/3]}
	}
	return mem{Base: g[i/3], Index: stride, Scale: uint8(i % 3)}
}

// advance adds rows·stride to the pointer base.
func (m *machine) advance(base, stride gp, rows int) {
	step := m.GP64()
	m.IMUL3Q(number(rows), stride, step)
	m.ADDQ(step, base)
}
