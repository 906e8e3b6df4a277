package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// innerLoops lists inner loops of arm64 kernels: the ceiling, the tiles, and one loop of each other sort.
var innerLoops = []struct {
	pkg, function, label, block string
}{
	{"simd", "peakNEON", "loop", "the ceiling: 24 sums in registers"},
	{"simd", "tile4NEON", "quad", "6 rows by 16 columns, 4 consecutive steps"},
	{"simd", "depthwise3by1NEON", "fourgrow", "4 positions by 4 channels, a row of taps"},
	{"scan", "expSumNEON", "loop", "16 exponentials"},
	{"dot16", "stripVector", "pair", "14 rows by 8 columns, 2 coordinates"},
	{"dot8", "stripDot", "step", "8 rows by 8 columns, 64 coordinates"},
	{"dot8", "stripMatrix", "step", "the same"},
	{"qgemm", "sumsSDOT", "four", "6 rows by 16 columns, 16 coordinates"},
	{"pix", "gatherVector", "tap", "a pixel"},
}

// products is the number of products that each instruction adds to its sums.
var products = map[string]int{
	"fmla": 4, "fmls": 4, "smlal": 4, "smlal2": 4, "sdot": 16, "usmmla": 32,
}

// loopTable returns the table of innerLoops, with instructions counted in the assembly.
func loopTable(root string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("| kernel | block | instructions | multiply-adds among them | products per instruction |\n" +
		"|---|---|---|---|---|\n")
	for _, l := range innerLoops {
		text, err := os.ReadFile(filepath.Join(root, "internal", "kernel", l.pkg, "kernels_arm64.s"))
		if err != nil {
			return nil, err
		}
		all, adds, sum, err := countInstructions(string(text), l.function, l.label)
		if err != nil {
			return nil, fmt.Errorf("internal/kernel/%s/kernels_arm64.s: %w", l.pkg, err)
		}
		fmt.Fprintf(&b, "| `%s` %s | %s | %d | %d: %d %% | %.1f |\n", l.pkg, l.function, l.block, all, adds,
			(200*adds+all)/(2*all), float64(sum)/float64(all))
	}
	return b.Bytes(), nil
}

// countInstructions returns the number of instructions of a loop, the number of multiply-adds among
// them, and the products that these compute. The loop runs from the label to the branch
// back to it.
func countInstructions(text, function, label string) (all, adds, sum int, err error) {
	_, text, _ = strings.Cut(text, "\nTEXT ·"+function+"(SB)")
	text, _, _ = strings.Cut(text, "\nTEXT ")
	_, text, ok := strings.Cut(text, "\n"+label+":\n")
	if !ok {
		return 0, 0, 0, fmt.Errorf("no loop %s in a function %s", label, function)
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "\t") { // another label
			continue
		}
		all++
		_, notation, _ := strings.Cut(line, "// ")
		name, operands, _ := strings.Cut(notation, " ")
		if n := products[name]; n > 0 {
			adds++
			if strings.Contains(operands, ".2d") {
				n /= 2
			}
			sum += n
		}
		if fields := strings.Fields(strings.ReplaceAll(line, ",", " ")); slices.Contains(fields[1:], label) {
			return all, adds, sum, nil
		}
	}
	return 0, 0, 0, fmt.Errorf("no branch back to the label %s in %s", label, function)
}
