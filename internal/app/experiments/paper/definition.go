package paper

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/kindred-ml/kindred/internal/format/yamltext"
)

// definition is an experiment as its file defines it. like names an earlier experiment, which gives
// everything that the file leaves out, except what Go adds.
type definition struct {
	Experiment

	like, dataset string
	space         *Space
	scales        []likeScale
	arms          []likeArm
	// sampled, if set, makes it a row of the table of the defaults.
	sampled *UnseenDataset

	// without lists the fields of the like experiment that this one does not have: "none" in the
	// file.
	without []string
}

// likeScale is a scale; like names a scale of the like experiment.
type likeScale struct {
	Scale
	like string
}

// likeArm is an arm. like names an earlier arm, or an arm of the like experiment: it gives the
// settings and ranges that are left out, and the baseline of an arm without a name of its own.
type likeArm struct {
	Arm
	like string
	task *taskName
}

// definitions are the contents of the files: experiments, one a document, and shared names.
type definitions struct {
	list     []*definition
	datasets map[string]Dataset
	// groups are label rules by name: which classes share a label.
	groups map[string]string
}

// parseDefinitions reads a file of experiments. Settings and ranges are "section.key: value" lines,
// as in the plan of a sweep.
func parseDefinitions(file string, text []byte, into *definitions) error {
	r := &definitionReader{yamltext.NewReader(file), into}
	f, err := r.Parse(text)
	if err != nil {
		return err
	}
	for _, doc := range f.Docs {
		if doc.Body != nil {
			r.document(doc.Body)
		}
	}
	return r.Err()
}

type definitionReader struct {
	*yamltext.Reader
	into *definitions
}

// document reads an experiment or, if it has the key datasets, shared definitions.
func (r *definitionReader) document(n ast.Node) {
	shared := false
	r.Entries(n, "a document", func(key string, _, _ ast.Node) { shared = shared || key == "datasets" })
	if shared {
		r.Fields(n, "what is shared", []yamltext.Field{yamltext.AnyField("datasets", r.datasets),
			yamltext.AnyField("groups", r.groups)})
		return
	}
	d := &definition{}
	r.Fields(n, "an experiment", []yamltext.Field{
		r.StringField("name", &d.Name), r.StringField("like", &d.like), r.StringField("title", &d.Title),
		r.StringField("source", &d.Source),
		r.StringField("dataset", &d.dataset), r.StringField("about", &d.About), r.StringField("terms", &d.Terms),
		r.StringField("tuning", &d.Tuning), yamltext.AnyField("brief", func(n ast.Node) { d.Brief = r.brief(n) }),
		r.BoolField("own", &d.Own), r.BoolField("pretrained", &d.Pretrained),
		r.StringField("pretrained_scale", &d.PretrainedScale),
		r.IntField("seeds", &d.Seeds, 1), r.settings("set", &d.Base), r.settings("fast", &d.Fast),
		yamltext.AnyField("measures", func(n ast.Node) { d.Measures = r.measures(n) }),
		yamltext.AnyField("lower", func(n ast.Node) { d.Lower = r.keys(n, "lower") }),
		d.field("scales", func(n ast.Node) { d.scales = r.scales(n) }),
		d.field("figure", func(n ast.Node) { d.Sweep = r.figure(n) }),
		d.field("space", func(n ast.Node) { d.space = r.space(n) }),
		yamltext.AnyField("arms", func(n ast.Node) { d.arms = r.arms(n) }),
		yamltext.AnyField("row", func(n ast.Node) { d.sampled = r.row(n) }),
	})
	switch {
	case d.Name == "":
		r.Fail(n, "an experiment needs a name")
	case slices.ContainsFunc(r.into.list, func(o *definition) bool { return o.Name == d.Name }):
		r.Fail(n, "there is an experiment %s already", d.Name)
	}
	r.into.list = append(r.into.list, d)
}

// field is a field that may be "none".
func (d *definition) field(name string, read func(n ast.Node)) yamltext.Field {
	return yamltext.AnyField(name, func(n ast.Node) {
		if t := n.GetToken(); t != nil && n.Type() == ast.StringType && t.Value == "none" {
			d.without = append(d.without, name)
			return
		}
		read(n)
	})
}

// settings is a field of "section.key: value" lines, read as overrides.
func (r *definitionReader) settings(name string, to *[]string) yamltext.Field {
	return yamltext.AnyField(name, func(n ast.Node) {
		*to = []string{}
		r.Entries(n, name, func(key string, at, v ast.Node) {
			if _, after, ok := strings.Cut(key, "."); !ok || after == "" {
				r.Fail(at, "%s: %q is not a key of the configuration (section.key)", name, key)
			}
			*to = append(*to, key+"="+r.value(v))
		})
	})
}

// value returns the text of a value. {groups: NAME} stands for the label rule of that name.
func (r *definitionReader) value(n ast.Node) string {
	switch n := n.(type) {
	case *ast.NullNode:
		return ""
	case *ast.MappingNode, *ast.MappingValueNode:
		rule := ""
		r.Entries(n, "a value", func(key string, _, v ast.Node) {
			if key == "groups" {
				r.StringField(key, &rule).Read(v)
			}
		})
		if text, ok := r.into.groups[rule]; ok {
			return text
		} else if rule != "" {
			r.Fail(n, "there are no groups called %q", rule)
		}
	case ast.ScalarNode:
		return n.GetToken().Value
	}
	return r.oneLine(n)
}

// oneLine returns a value on one line.
func (r *definitionReader) oneLine(n ast.Node) string {
	var parts []string
	switch n := n.(type) {
	case *ast.SequenceNode:
		for _, v := range n.Values {
			parts = append(parts, r.oneLine(v))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *ast.MappingNode, *ast.MappingValueNode:
		r.Entries(n, "a value", func(key string, _, v ast.Node) { parts = append(parts, key+": "+r.oneLine(v)) })
		return "{" + strings.Join(parts, ", ") + "}"
	case ast.ScalarNode:
		if strings.ContainsAny(n.GetToken().Value, ",[]{}#") {
			r.Fail(n, "values inside a value must not need quotes")
		}
		return n.GetToken().Value
	}
	r.Fail(n, "must be a value, a list or a mapping of values")
	return ""
}

func (r *definitionReader) measures(n ast.Node) (out []Measure) {
	r.EachEntry(n, "measures", func(n ast.Node) {
		var m Measure
		r.Fields(n, "a measure", []yamltext.Field{r.StringField("key", &m.Key), r.StringField("name", &m.Name),
			r.StringField("group", &m.Group)})
		out = append(out, m)
	})
	return out
}

func (r *definitionReader) scales(n ast.Node) (out []likeScale) {
	r.EachEntry(n, "scales", func(n ast.Node) {
		var s likeScale
		r.Fields(n, "a scale", []yamltext.Field{r.StringField("name", &s.Name), r.StringField("like", &s.like),
			r.StringField("about", &s.About), r.settings("set", &s.Set)})
		out = append(out, s)
	})
	return out
}

func (r *definitionReader) figure(n ast.Node) *Sweep {
	var s Sweep
	r.Fields(n, "a figure", []yamltext.Field{r.StringField("x", &s.X), r.StringField("caption", &s.Caption),
		yamltext.AnyField("measures", func(n ast.Node) { s.Measures = r.keys(n, "measures") })})
	return &s
}

func (r *definitionReader) brief(n ast.Node) *Brief {
	var b Brief
	r.Fields(n, "a brief", []yamltext.Field{r.StringField("title", &b.Title), r.StringField("with", &b.With),
		yamltext.AnyField("measures", func(n ast.Node) { b.Measures = r.keys(n, "measures") }),
		yamltext.AnyField("series", func(n ast.Node) { b.Series = r.keys(n, "series") })})
	return &b
}

// keys reads a list of the keys of measures.
func (r *definitionReader) keys(n ast.Node, what string) (out []string) {
	r.EachEntry(n, what, func(n ast.Node) {
		key := ""
		r.StringField("key", &key).Read(n)
		out = append(out, key)
	})
	return out
}

func (r *definitionReader) space(n ast.Node) *Space {
	var s Space
	r.Fields(n, "a space", []yamltext.Field{r.StringField("of", &s.Of), r.StringField("scale", &s.Scale),
		r.StringField("held", &s.Held),
		r.StringField("kept", &s.Kept), r.settings("set", &s.Set), r.settings("ranges", &s.Ranges),
		r.BoolField("start", &s.Start),
		yamltext.AnyField("plan", func(n ast.Node) {
			r.Entries(n, "plan", func(key string, _, v ast.Node) { s.Plan = append(s.Plan, key+": "+r.value(v)) })
		})})
	return &s
}

func (r *definitionReader) arms(n ast.Node) (out []likeArm) {
	r.EachEntry(n, "arms", func(n ast.Node) {
		var a likeArm
		r.Fields(n, "an arm", []yamltext.Field{
			r.StringField("name", &a.Name), r.StringField("like", &a.like), r.settings("set", &a.Set),
			r.settings("ranges", &a.Ranges), r.settings("start", &a.Start), r.settings("change", &a.Change),
			r.StringField("baseline", &a.Baseline), r.StringField("untrained", &a.Untrained),
			r.StringField("tuned", &a.Tuned),
			r.StringField("series", &a.Series), r.FloatField("at", &a.At),
			yamltext.AnyField("published", func(n ast.Node) {
				r.EachEntry(n, "published", func(n ast.Node) {
					v := float64(missing)
					if _, none := n.(*ast.NullNode); !none {
						r.FloatField("published", &v).Read(n)
					}
					a.Published = append(a.Published, v)
				})
			}),
			yamltext.AnyField("task", func(n ast.Node) { a.task = r.task(n) }),
		})
		out = append(out, a)
	})
	return out
}

// row reads the fields of a row of the table of the defaults.
func (r *definitionReader) row(n ast.Node) *UnseenDataset {
	var s UnseenDataset
	var draw folderSample
	r.Fields(n, "a row", []yamltext.Field{r.StringField("name", &s.Row), r.settings("set", &s.Set),
		r.StringField("things", &s.Things), r.StringField("labels", &s.Labels), r.BoolField("photos", &s.Photos),
		r.BoolField("recipes", &s.Recipes),
		r.IntField("each", &draw.each, 1), r.StringField("heap", &draw.heap)})
	if draw.each > 0 {
		s.Draw = &draw
	} else if draw.heap != "" {
		r.Fail(n, "heap needs each, the number of photos of every other class")
	}
	return &s
}

func (r *definitionReader) datasets(n ast.Node) {
	r.Entries(n, "datasets", func(name string, _, n ast.Node) {
		d := Dataset{Name: name}
		r.Fields(n, "a data set", []yamltext.Field{r.StringField("title", &d.Title), r.StringField("about", &d.About),
			r.IntField("images", &d.Images, 1)})
		r.into.datasets[name] = d
	})
}

// groups reads label rules: each is a list of labels, and each label is a list of classes.
func (r *definitionReader) groups(n ast.Node) {
	r.Entries(n, "groups", func(name string, _, n ast.Node) {
		var labels []string
		r.EachEntry(n, name, func(n ast.Node) {
			var classes []string
			r.EachEntry(n, "a label of "+name, func(n ast.Node) {
				class := ""
				r.StringField("class", &class).Read(n)
				classes = append(classes, class)
			})
			labels = append(labels, strings.Join(classes, ","))
		})
		r.into.groups[name] = "groups:" + strings.Join(labels, "|")
	})
}
