package bench

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// FormatPage returns docs/bench.md, made from all records.
func FormatPage(records []*Record) []byte {
	var b bytes.Buffer
	b.WriteString(strings.ReplaceAll(`# How fast

'make gen' writes this page from the records in [docs/bench](bench), one for each processor. 'make bench-page' times
the cases on your machine, or those of 'CASES="case ..."', and writes its record and this page; cases that it does not
time keep their earlier figures. 'kindred bench CASE --layers' divides the time of a network among its layers.
[docs/design](design) says what limits each case.

'make peer' sets up the peers as far as it can, and says what it left out: ONNX Runtime from npm and, as root, PyTorch,
the compiler of torch.compile and faiss of Debian trixie in a folder. Without root it takes older ones of this Debian.

Times are milliseconds for one run: median (shortest-longest). The ratio is the median of the fastest peer over that
of kindred: above 1 kindred is faster. The records have the times of the other peers too. PyTorch runs in its default
layout, with channels last ('-cl') and, in evaluation, compiled by inductor with frozen weights ('-compiled'). ONNX
Runtime evaluates the very network that kindred does, exported. In cases that end in '-bf16' both compute in bfloat16,
PyTorch by autocast, and in those that end in '-int8' in 8 bits. Cases without a peer are not shown.

A name gives the case: 'gemm-MxKxN' is a matrix product of M x K and K x N; 'b16' is a batch of 16 images, '224' their
side in pixels, 'infer' an evaluation as by 'kindred embed', 'train' a forward and backward pass; 'triplet', 'margin'
and 'ms' are losses with mining and gradient of n embeddings of d numbers; 'search' finds the 9 nearest of the rows
exactly, for q queries; 'kmeans' makes k clusters in 5 iterations.
`, "'", "`"))
	for _, r := range records {
		r.writeSection(&b)
	}
	return b.Bytes()
}

func (r *Record) writeSection(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n## %s\n\n", r.Processor)
	r.writeRun(b)
	for _, e := range r.Earlier {
		if slices.ContainsFunc(Cases(), func(c Case) bool { return e.hasComparison(c.Name) }) {
			fmt.Fprintf(b, "\n### %s: cases not timed since, %s\n\n", r.Processor, e.Taken)
			e.writeRun(b)
		}
	}
}

// writeRun writes how the figures of one run were taken, and its table.
func (r *Record) writeRun(b *bytes.Buffer) {
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
	for _, p := range r.Peers {
		item("Peer: %s.", p)
	}
	if missing := r.MissingPeers(); len(missing) > 0 {
		item("Missing: %s.", strings.Join(missing, ", "))
	}
	b.WriteString("\n|case|kindred|peer|ratio|\n|---|---|---|---|\n")
	for _, c := range Cases() {
		if r.hasComparison(c.Name) {
			r.writeRow(b, r.find(c.Name))
		}
	}
}

// String lists the versions, the kernels, the BLAS and its core type, and the GFLOP/s of each core type.
func (p Setting) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.Versions)) {
		fmt.Fprintf(&b, "%s %s, ", name, p.Versions[name])
	}
	fmt.Fprintf(&b, "%d threads", p.Threads)
	if p.Kernels != "" {
		fmt.Fprintf(&b, ", kernels: %s", p.Kernels)
	}
	if p.BLAS != "" {
		fmt.Fprintf(&b, ", products by %s, core type %s", p.BLAS, p.CoreType)
	}
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

func (r *Record) writeRow(b *bytes.Buffer, x *Result) {
	theirs := *x.Peer
	theirs.Tool = r.peerNames(x)
	fmt.Fprintf(b, "|`%s`|%s|%s %s|%s|\n", x.Case, x.Times, theirs.Times, theirs.Name(x.Case), formatFactor(x.Ratio))
}

// String returns the median with the range, if the range is known.
func (t Times) String() string {
	if t.MaxMS == 0 {
		return formatDigits(t.MedianMS)
	}
	return fmt.Sprintf("%s (%s-%s)", formatDigits(t.MedianMS), formatDigits(t.MinMS), formatDigits(t.MaxMS))
}

// formatDigits writes three significant digits, and all digits of larger whole numbers.
func formatDigits(x float64) string {
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

func formatFactor(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2fx", x)
	}
	return fmt.Sprintf("%.1fx", x)
}

// leadingCases lists the cases in README's table, with their names there.
var leadingCases = []struct{ name, title string }{
	{"gemm-2048x2048x2048", "matrix product 2048 x 2048 x 2048"},
	{"mnist-step-b128", "training step, MNIST net, batch 128 ¹"},
	{"conv4-40px-step-b112", "training step, Conv4 at 40 px, batch 112"},
	{"resnet18-224-infer-b16", "ResNet-18 at 224, evaluation, batch 16"},
	{"resnet50-224-infer-b16", "ResNet-50 at 224, evaluation, batch 16"},
	{"resnet50-224-infer-b16-bf16", "the same in bfloat16"},
	{"resnet50-224-infer-b16-int8", "the same in 8 bits"},
	{"resnet50-224-train-b16", "ResNet-50 at 224, forward and backward"},
	{"vit_s16-224-infer-b16", "ViT-S/16 at 224, evaluation, batch 16"},
	{"triplet-n2048-d512", "triplet, EPS + semi-hard, 2048 x 512"},
	{"search-60502x512-q6000", "exact search, 6,000 queries in 60,502 x 512"},
	{"kmeans-60502x512-k1000-it5", "k-means, 60,502 x 512, K = 1000, 5 iterations"},
}

// FormatRatios returns README's table: how many times faster kindred is than the fastest peer in each
// leading case.
func FormatRatios(records []*Record) []byte {
	var b bytes.Buffer
	b.WriteString("| what | `kindred bench` case |")
	for _, r := range records {
		fmt.Fprintf(&b, " %s |", r.Processor)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(records)) + "\n")
	for _, c := range leadingCases {
		if !slices.ContainsFunc(records, func(r *Record) bool { return r.latestRecord(c.name) != nil }) {
			continue
		}
		fmt.Fprintf(&b, "| %s | `%s` |", c.title, c.name)
		for _, r := range records {
			cell := ""
			if part := r.latestRecord(c.name); part != nil {
				x := part.find(c.name)
				cell = fmt.Sprintf("**%s** (%s ms), %s",
					formatFactor(x.Ratio), formatDigits(x.MedianMS), part.peerNames(x))
				if part != r {
					cell += ", " + part.Taken
				}
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	for _, r := range records {
		fmt.Fprintf(&b, "\n%s: %d cores, %s.", r.Processor, r.Cores, r.Taken)
		for _, part := range r.withEarlier() {
			shown := func(c struct{ name, title string }) bool { return r.latestRecord(c.name) == part }
			if part.Remark != "" && slices.ContainsFunc(leadingCases, shown) {
				if part != r {
					fmt.Fprintf(&b, " Of %s:", part.Taken)
				}
				fmt.Fprintf(&b, " %s", part.Remark)
			}
		}
		b.WriteString("\n")
	}
	return b.Bytes()
}

// hasComparison reports whether this run timed a case beside a peer.
func (r *Record) hasComparison(name string) bool {
	x := r.find(name)
	return x != nil && x.Peer != nil
}

// latestRecord returns the latest run that timed a case beside a peer: r or an earlier one. It is nil if
// none did.
func (r *Record) latestRecord(name string) *Record {
	for _, part := range r.withEarlier() {
		if part.hasComparison(name) {
			return part
		}
	}
	return nil
}
