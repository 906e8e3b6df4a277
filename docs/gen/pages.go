package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/app/bench"
	"github.com/kindred-ml/kindred/internal/app/remote/weights"
	"github.com/kindred-ml/kindred/internal/test/ladder"

	"github.com/kindred-ml/kindred/objective"
)

// generatePages returns the generated pages and the pages with a generated part, by their path
// from docs. root is the root of the repository.
func generatePages(root string) (map[string][]byte, error) {
	losses, err := parsePackage(filepath.Join(root, "loss"))
	if err != nil {
		return nil, err
	}
	policies, err := parsePackage(filepath.Join(root, "objective"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	var index bytes.Buffer
	index.WriteString("# Losses\n\nOne page each: formula, options, when to use it, and what it does to the inside " +
		"of a class.\nGenerated from the doc comments; change those and run `make gen`. What " +
		"pytorch-metric-learning calls them: [names](../pytorch-metric-learning-names.md).\n\n| name | type | " +
		"customary " +
		"mining |\n|---|---|---|\n")
	for _, info := range objective.Losses() {
		page, err := lossPage(losses, info)
		if err != nil {
			return nil, err
		}
		files["losses/"+info.Name+".md"] = page
		fmt.Fprintf(&index, "| [%s](%s.md) | `loss.%s` | %v + %v |\n", info.Name, info.Name, typeName(info),
			info.Mining.Positives, info.Mining.Negatives)
	}
	files["losses/README.md"] = index.Bytes()

	page, err := policyPage(policies)
	if err != nil {
		return nil, err
	}
	files["policies.md"] = page
	return files, addTimings(root, files)
}

// policyPage returns the page of mining policies.
func policyPage(policies *source) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# Mining policies\n\nA mining policy chooses the positives or the negatives of each anchor in a " +
		"batch. Any positive policy can\nbe combined with any negative policy and any loss over tuples, except " +
		"semihard positives with facenet,\nsemihard and angular negatives: each would wait for the other. `make gen` " +
		"writes this page from doc\ncomments. In a configuration: `mine: {positives: easy, negatives: hard}`.\n\n" +
		"**Ties.** Distances are compared in float32. Of several references at the same distance, easy, hard and\n" +
		"semihard take the first in the batch, whose classes and samples are drawn at random. A negative at exactly\n" +
		"the distance of the positive is not farther: semihard and facenet leave it out.\n")
	for _, side := range []struct {
		name, typ string
		names     []string
		notes     map[string]note
	}{
		{"positive", "PositivePolicy", objective.PositivePolicyNames(), positiveNotes},
		{"negative", "NegativePolicy", objective.NegativePolicyNames(), negativeNotes},
	} {
		comments := policies.constants(side.typ)
		if len(comments) != len(side.names) {
			return nil, fmt.Errorf("%d constants of type %s for %d names", len(comments), side.typ, len(side.names))
		}
		for k, name := range side.names {
			n, ok := side.notes[name]
			if !ok {
				return nil, fmt.Errorf("no note on the %s policy %s", side.name, name)
			}
			fmt.Fprintf(&b, "\n## %s %ss\n\n`objective.%s`\n\n", name, side.name, comments[k].name)
			b.Write(policies.markdown(comments[k].text))
			fmt.Fprintf(&b, "\n**When:** %s **Inside a class:** %s\n", n.use, n.structure)
		}
	}
	writeMiningKeys(&b)
	return b.Bytes(), nil
}

// writeMiningKeys writes the end of the page of policies: the keys that policies read.
func writeMiningKeys(b *bytes.Buffer) {
	b.WriteString("\n## Keys\n\nKeys of a configuration and fields of `objective.MiningConfig`. Distances are " +
		"Euclidean, between the\nembeddings that the loss sees.\n\n| key | field | default | |\n|---|---|---|---|\n")
	for _, k := range [][4]string{
		{"positives", "Positives", "the loss's", "the policy for positives"},
		{"negatives", "Negatives", "the loss's", "the policy for negatives"},
		{"positives_from", "PositiveRange.From", "0", "the least distance of a positive"},
		{"positives_to", "PositiveRange.To", "no end", "the greatest distance"},
		{"negatives_from", "NegativeRange.From", "0", "the least distance of a negative"},
		{"negatives_to", "NegativeRange.To", "no end", "the greatest distance"},
		{"fallback", "HardFallback", "none", "`hard` gives an anchor without a semi-hard negative its nearest one"},
		{"epsilon", "Epsilon", "0.1", "slack of the ms policies, in similarity; `loss.epsilon` if it is not set"},
		{"nearest", "Nearest", "0.5", "distance negatives: nearer ones count as this far away"},
		{"cutoff", "Cutoff", "1.4", "distance negatives: none is farther"},
		{"max_weight", "MaxWeight", "none", "distance negatives: the largest weight"},
		{"angle", "Angle", "20", "angular negatives: the angle, in degrees"},
		{"bands", "Bands", "100", "histogram policies: how many bands of distance"},
	} {
		fmt.Fprintf(b, "| `mine.%s` | `%s` | %s | %s |\n", k[0], k[1], k[2], k[3])
	}
	b.WriteString(`
FaceNet negatives read loss.margin (0.2 if it is not set) in loss.distance.

## Ranges of distance

Every policy ignores references outside the range of its side; an anchor without references in range has no triplet. Both
ends belong to the range:

    mine: {positives: hard, positives_from: 0.2, positives_to: 1.1, negatives: hard, negatives_from: 0.5}

Ranges are Euclidean distances D, whatever the loss reads: D = √q for a squared distance q, and D = √(2 - 2s) for a cosine
similarity s of normalised embeddings, so similarities from 0.3 to 0.9 are distances from 0.447 to 1.183. Losses that are
defined for all pairs take no range. A loss of loss.plus has its own ranges, under the same keys.
`)
}

// addTimings adds the page of timings, README with its table of timings, and the pages on
// the architecture, kernels and pretrained weights with their generated parts.
func addTimings(root string, files map[string][]byte) error {
	records, err := bench.ReadRecords(filepath.Join(root, "docs", "bench"))
	if err != nil {
		return err
	}
	files["bench.md"] = bench.FormatPage(records)
	counts, err := loopTable(root)
	if err != nil {
		return err
	}
	metrics, err := parsePackage(filepath.Join(root, "eval"))
	if err != nil {
		return err
	}
	for _, part := range []struct {
		file, from string // the file, by its path from docs
		content    []byte
	}{
		{"../README.md", "docs/bench", bench.FormatRatios(records)},
		{"design/architecture.md", "internal/test/ladder", packageLists()},
		{"design/kernels.md", "internal/kernel", counts},
		{"weights.md", "internal/app/remote/weights", pretrainedTable()},
		{"data.md", "data/imaging", imageFormatTable()},
		{"evaluation.md", "eval", metricList(metrics)},
	} {
		text, err := os.ReadFile(filepath.Join(root, "docs", part.file))
		if err != nil {
			return err
		}
		if files[part.file], err = replaceBetweenMarks(text, part.from, part.content); err != nil {
			return fmt.Errorf("%s: %w", part.file, err)
		}
	}
	return nil
}

// replaceBetweenMarks returns text with content between two marks: the mark that names the source
// from, and the next end mark.
func replaceBetweenMarks(text []byte, from string, content []byte) ([]byte, error) {
	begin := "<!-- written by make gen from " + from + " -->\n"
	const end = "<!-- end of what make gen writes -->\n"
	before, rest, ok := bytes.Cut(text, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		return nil, fmt.Errorf("no lines %q and %q with the generated part between them", begin, end)
	}
	return slices.Concat(before, []byte(begin+"\n"), content, []byte("\n"+end), after), nil
}

// packageLists returns the packages of internal/test/ladder as lists.
func packageLists() []byte {
	var b bytes.Buffer
	for _, f := range ladder.Floors() {
		fmt.Fprintf(&b, "**%s**: %s.\n\n", f.Name, f.Holds)
		for _, p := range f.Packages {
			fmt.Fprintf(&b, "- `%s`: %s\n", p.Path, p.Holds)
		}
		b.WriteString("\n")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// imageFormatTable returns the table of data/imaging.
func imageFormatTable() []byte {
	var b bytes.Buffer
	b.WriteString("| format | extensions | media type |\n|---|---|---|\n")
	for _, f := range imaging.FileFormats() {
		fmt.Fprintf(&b, "| %s | `%s` | `%s` |\n", f.Name, strings.Join(f.Extensions, "` `"), f.MediaType)
	}
	return b.Bytes()
}

// pretrainedTable returns the table of internal/app/remote/weights.
func pretrainedTable() []byte {
	var b bytes.Buffer
	b.WriteString("| name | network | MB | ImageNet | trained on | image side | resized | pixels | license |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	for _, e := range weights.Catalog() {
		top := ""
		if e.Top1 > 0 {
			top = fmt.Sprintf("%.1f %%", e.Top1)
		}
		if e.Measured == weights.ByNearest {
			top += ", k-NN"
		}
		fmt.Fprintf(&b, "| [%s](%s) | %s | %.0f | %s | %s | %d of %d | %s | %s | %s |\n", e.Name, e.Home, e.Network,
			float64(e.Bytes)/1e6, top, e.Trained, e.Size, e.Shorter, e.Resample,
			e.Pixels, e.License)
	}
	return b.Bytes()
}

// metricList returns the list of package eval's metrics: the names that a command reads, and the comment.
func metricList(metrics *source) []byte {
	kinds := metrics.constants("Kind")
	forms := slices.Concat(eval.MetricNames())
	var b bytes.Buffer
	for _, c := range kinds {
		names := slices.DeleteFunc(slices.Clone(forms), func(form string) bool {
			base := strings.TrimSuffix(strings.TrimSuffix(form, "=RATE"), "@K")
			other := slices.ContainsFunc(kinds, func(o comment) bool {
				return o != c && strings.EqualFold(o.value, form)
			})
			return other || !strings.EqualFold(form, c.value) && base != c.value
		})
		text := strings.TrimPrefix(strings.Join(strings.Fields(c.text), " "), c.name+" is ")
		fmt.Fprintf(&b, "- `%s`: %s\n", strings.Join(names, "`, `"), text)
	}
	return b.Bytes()
}

func typeName(info objective.Info) string {
	t := reflect.TypeOf(info.Loss)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

func lossPage(p *source, info objective.Info) ([]byte, error) {
	typ := p.typ(typeName(info))
	if typ == nil || typ.Doc == "" {
		return nil, fmt.Errorf("no doc comment on loss.%s", typeName(info))
	}
	formula, n, err := splitAdvice(typ.Doc)
	if err != nil {
		return nil, fmt.Errorf("loss.%s: %w", typ.Name, err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n", info.Name)
	b.Write(p.markdown(formula))
	b.WriteString("\n## Options\n\n")
	if fields := exportedFields(typ); len(fields) > 0 {
		b.WriteString("| field of `loss." + typ.Name + "` | |\n|---|---|\n")
		for _, f := range fields {
			fmt.Fprintf(&b, "| %s | %s |\n", f.name, f.text)
		}
		b.WriteString("\n")
	}
	alias := ""
	if info.Alias != "" {
		alias = " (or `" + info.Alias + "`)"
	}
	fmt.Fprintf(&b, "In a configuration: `loss: {name: %s}`%s", info.Name, alias)
	if len(info.Keys) > 0 {
		fmt.Fprintf(&b, " with the keys `%s`", strings.Join(info.Keys, "`, `"))
	}
	fmt.Fprintf(&b, ".\nBy default it uses %v positives and %v negatives.\n", info.Mining.Positives,
		info.Mining.Negatives)
	fmt.Fprintf(&b, "\n## When to use it\n\n%s\n\n## Inside a class\n\n%s\n", n.use, n.structure)
	return b.Bytes(), nil
}

// note is advice that a formula does not contain.
type note struct{ use, structure string }

// splitAdvice separates the two paragraphs of a note from the doc comment of a loss.
func splitAdvice(text string) (rest string, n note, err error) {
	var kept []string
	for p := range strings.SplitSeq(text, "\n\n") {
		words := strings.Join(strings.Fields(p), " ")
		if strings.HasPrefix(words, "Use it ") {
			n.use = words
		} else if inside, ok := strings.CutPrefix(words, "Inside a class: "); ok {
			n.structure = strings.ToUpper(inside[:1]) + inside[1:]
		} else {
			kept = append(kept, p)
		}
	}
	if n.use == "" || n.structure == "" {
		err = errors.New(`the doc comment has no paragraphs "Use it ..." and "Inside a class: ..."`)
	}
	return strings.Join(kept, "\n\n"), n, err
}

// source is a parsed package.
type source struct{ pkg *doc.Package }

func parsePackage(dir string) (*source, error) {
	fset := token.NewFileSet()
	entries, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, path := range entries {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	pkg, err := doc.NewFromFiles(fset, files, dir)
	if err != nil {
		return nil, err
	}
	return &source{pkg}, nil
}

func (s *source) markdown(text string) []byte { return s.pkg.Markdown(text) }

func (s *source) typ(name string) *doc.Type {
	for _, t := range s.pkg.Types {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// comment is a name with its doc comment, and the value of a constant that is a text.
type comment struct{ name, text, value string }

// constants returns the constants of a type with their comments, in order.
func (s *source) constants(typ string) []comment {
	var all []comment
	for _, v := range s.typ(typ).Consts {
		for _, spec := range v.Decl.Specs {
			c := spec.(*ast.ValueSpec)
			value := ""
			if len(c.Values) == 1 {
				if text, ok := c.Values[0].(*ast.BasicLit); ok {
					value, _ = strconv.Unquote(text.Value) // "" of a number
				}
			}
			all = append(all, comment{c.Names[0].Name, c.Doc.Text(), value})
		}
	}
	return all
}

// exportedFields returns the exported fields of a struct with their comments.
func exportedFields(t *doc.Type) []comment {
	var all []comment
	st, ok := t.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, f := range st.Fields.List {
		text := f.Doc.Text()
		if text == "" {
			text = f.Comment.Text()
		}
		for _, n := range f.Names {
			if n.IsExported() {
				if n.Name == "Reduce" && text == "" {
					text = "reduction; the default is above"
				}
				all = append(all, comment{name: n.Name, text: strings.Join(strings.Fields(text), " ")})
			}
		}
	}
	return all
}
