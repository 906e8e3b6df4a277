package bench

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Page returns docs/bench.md, made from all records.
func Page(records []*Record) []byte {
	var b bytes.Buffer
	b.WriteString(`# How fast

` + "`make gen`" + ` writes this page from the records in [docs/bench](bench), one for each processor.
` + "`make bench-page`" + ` times every case on your machine and writes its record and this page.
` + "`kindred bench CASE --layers`" + ` divides a network's time among its layers. [docs/design](design) says what limits each case.

Times are milliseconds for one run: median (shortest-longest). The ratio is the peer's median over kindred's: above 1
kindred is faster. A peer's time in float32 is that of its faster variant, in its default layout or with channels last
(` + "`-cl`" + `). In cases that end in ` + "`-bf16`" + ` both compute in bfloat16, the peer by autocast. A few cases without a peer
are not shown.

A name gives the case: ` + "`gemm-MxKxN`" + ` is a matrix product of M x K and K x N; ` + "`b16`" + ` is a batch of 16 images, ` + "`224`" + ` their
side in pixels, ` + "`infer`" + ` an evaluation, ` + "`train`" + ` a forward and backward pass; ` + "`triplet`, `margin` and `ms`" + ` are losses
with mining and gradient of n embeddings of d numbers; ` + "`search`" + ` finds the 9 nearest of the rows exactly, for q queries;
` + "`kmeans`" + ` makes k clusters in 5 iterations.
`)
	for _, r := range records {
		r.section(&b)
	}
	return b.Bytes()
}

func (r *Record) section(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n## %s\n\n", r.Processor)
	if r.Remark != "" {
		fmt.Fprintf(b, "**%s**\n\n", r.Remark)
	}
	fmt.Fprintf(b, "%s\n\n", r.Method)
	item := func(format string, args ...any) { fmt.Fprintf(b, "- "+format+"\n", args...) }
	machine := fmt.Sprintf("%s, %d cores, kindred's kernels: %s", r.Taken, r.Cores, r.Level)
	if r.Go != "" {
		machine += ", " + r.Go
	}
	if r.Load != nil {
		machine += fmt.Sprintf("; load before the first case %.2f", *r.Load)
	}
	item("%s.", machine)
	if r.Model != "" && r.Model != r.Processor {
		item("The machine reports its model as %s.", r.Model)
	}
	if p := r.Peer; p != nil {
		item("The peer: %s.", p)
	}
	b.WriteString("\n| case | kindred | peer | ratio |\n|---|---|---|---|\n")
	for _, c := range Cases() {
		if r.compared(c.Name) {
			r.find(c.Name).row(b, c.Name)
		}
	}
}

// String lists the versions, the BLAS and its core type, and the GFLOP/s of each core type.
func (p Setting) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.Versions)) {
		fmt.Fprintf(&b, "%s %s, ", name, p.Versions[name])
	}
	fmt.Fprintf(&b, "%d threads, products by %s, core type %s", p.Threads, p.BLAS, p.CoreType)
	for i, t := range p.CoreTypes {
		sep := ", "
		if i == 0 {
			sep = " (GFLOP/s: "
		}
		fmt.Fprintf(&b, "%s%s %.0f", sep, t.Name, t.GFLOPS)
		if t.OwnGuess {
			b.WriteString(" by its own guess")
		}
	}
	if len(p.CoreTypes) > 0 {
		b.WriteString(")")
	}
	return b.String()
}

func (x *Result) row(b *bytes.Buffer, name string) {
	theirs := x.Peer.String()
	if v := strings.TrimPrefix(x.Peer.Variant, name); v != "" {
		theirs += " " + v
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, x.Times, theirs, factor(x.Ratio))
}

// String returns the median with the range, if the range is known.
func (t Times) String() string {
	if t.MaxMS == 0 {
		return digits(t.MedianMS)
	}
	return fmt.Sprintf("%s (%s-%s)", digits(t.MedianMS), digits(t.MinMS), digits(t.MaxMS))
}

// digits writes three significant digits, and all digits of larger whole numbers.
func digits(x float64) string {
	switch {
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case x >= 1:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}

func factor(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2fx", x)
	}
	return fmt.Sprintf("%.1fx", x)
}

// leading lists the cases in README's table, with their names there.
var leading = []struct{ name, title string }{
	{"gemm-2048x2048x2048", "matrix product 2048 x 2048 x 2048"},
	{"mnist-step-b128", "training step, MNIST net, batch 128 ¹"},
	{"conv4-40px-step-b112", "training step, Conv4 at 40 px, batch 112"},
	{"resnet18-224-infer-b16", "ResNet-18 at 224, evaluation, batch 16"},
	{"resnet50-224-infer-b16", "ResNet-50 at 224, evaluation, batch 16"},
	{"resnet50-224-train-b16", "ResNet-50 at 224, forward and backward"},
	{"vit_s16-224-infer-b16", "ViT-S/16 at 224, evaluation, batch 16"},
	{"triplet-n2048-d512", "triplet, EPS + semi-hard, 2048 x 512"},
	{"search-60502x512-q6000", "exact search, 6,000 queries in 60,502 x 512"},
	{"kmeans-60502x512-k1000-it5", "k-means, 60,502 x 512, K = 1000, 5 iterations"},
}

// Ratios returns README's table: how many times faster kindred is than the peer in each leading case.
func Ratios(records []*Record) []byte {
	var b bytes.Buffer
	b.WriteString("| what | `kindred bench` case |")
	for _, r := range records {
		fmt.Fprintf(&b, " %s |", r.Processor)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(records)) + "\n")
	for _, c := range leading {
		if !slices.ContainsFunc(records, func(r *Record) bool { return r.compared(c.name) }) {
			continue
		}
		fmt.Fprintf(&b, "| %s | `%s` |", c.title, c.name)
		for _, r := range records {
			cell := ""
			if r.compared(c.name) {
				x := r.find(c.name)
				cell = fmt.Sprintf("**%s** (%s ms)", factor(x.Ratio), digits(x.MedianMS))
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	for _, r := range records {
		fmt.Fprintf(&b, "\n%s: %d cores, %s", r.Processor, r.Cores, r.Taken)
		if r.Remark != "" {
			fmt.Fprintf(&b, ". %s", r.Remark)
		} else {
			b.WriteString(".")
		}
		b.WriteString("\n")
	}
	return b.Bytes()
}

// compared reports whether a case was timed beside the peer.
func (r *Record) compared(name string) bool {
	x := r.find(name)
	return x != nil && x.Peer != nil
}
