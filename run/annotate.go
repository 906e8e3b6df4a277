package run

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/kindred-ml/kindred/objective"
)

// important lists the keys that most runs are about, in the order of importance
// within their sections.
func important() []string {
	return []string{
		"data.name", "data.path", "data.size", "data.split", "data.label", "data.augment",
		"network.name", "network.pretrained", "network.dim",
		"train.epochs", "train.lr", "train.seed",
		"loss.name", "loss.margin", "mine.positives", "mine.negatives",
		"sample.classes", "sample.per_class", "sample.views",
		"eval.recall", "eval.metrics",
	}
}

// Annotate writes the configuration given as commented YAML for people to edit. resolved is
// the same configuration with all that the data decide filled in (Setup.Config). Every
// section begins with the most important keys and those that given changes, at their
// resolved values. The others follow as comments with their defaults, and with their
// resolved values where these differ. Each key has its help above it.
//
// Parse reads the result. Removing the comment sign before a key does not change what the
// configuration means.
func (resolved Config) Annotate(given Config) []byte {
	var b bytes.Buffer
	for k, s := range []string{"data", "network", "train", "loss", "mine", "sample", "eval"} {
		if k > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:\n", s)
		if m, free := resolved.free(s); free {
			annotateFree(&b, s, m)
			continue
		}
		annotateFixed(&b, s, &given, &resolved)
	}
	return b.Bytes()
}

// annotateFixed writes a section whose keys are all in the table.
func annotateFixed(b *bytes.Buffer, section string, given, resolved *Config) {
	type line struct {
		help, name, value, came string
		rank                    int // among important
		set                     bool
	}
	var lines []line
	for i := range keys {
		k := &keys[i]
		if k.section() != section {
			continue
		}
		def, came := k.fallback(), k.value(resolved)
		l := line{help: k.help, name: k.in(), rank: slices.Index(important(), k.name)}
		changed := !reflect.DeepEqual(k.value(given), def)
		own := !reflect.DeepEqual(came, def)
		l.set = changed || l.rank >= 0 && (own || !reflect.ValueOf(def).IsZero())
		if l.set {
			l.value = flow(came)
		} else {
			l.value = flow(def)
			if own {
				l.came = flow(came)
			}
		}
		lines = append(lines, l)
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		switch {
		case a.set != b.set && a.set:
			return -1
		case a.set != b.set:
			return 1
		case a.rank >= 0 && b.rank >= 0:
			return a.rank - b.rank
		case a.rank >= 0:
			return -1
		case b.rank >= 0:
			return 1
		}
		return 0
	})
	for _, l := range lines {
		comment(b, l.help)
		if l.came != "" {
			comment(b, "for these data it comes to "+l.came)
		}
		mark := ""
		if !l.set {
			mark = "#"
		}
		fmt.Fprintf(b, "  %s%s: %s\n", mark, l.name, l.value)
	}
}

// annotateFree writes the section of the loss or of mining, whose keys depend on
// the loss.
func annotateFree(b *bytes.Buffer, section string, m Section) {
	var names []string
	for k := range m {
		names = append(names, k)
	}
	slices.SortFunc(names, func(x, y string) int {
		a, b := slices.Index(important(), section+"."+x), slices.Index(important(), section+"."+y)
		if a < 0 || b < 0 || a == b {
			return strings.Compare(x, y)
		}
		return a - b
	})
	for _, name := range names {
		if k := keyNamed(section + "." + name); k != nil {
			help := k.help
			if section == "loss" && len(k.values) > 0 {
				help += ": " + strings.Join(k.values, ", ")
			}
			comment(b, help)
		}
		fmt.Fprintf(b, "  %s: %s\n", name, flow(m[name]))
	}
	if section != "loss" {
		return
	}
	for _, l := range objective.Losses() {
		if name, _ := m["name"].(string); name == l.Name || name == l.Alias {
			comment(b, fmt.Sprintf("its further keys: %s; see docs/losses/%s.md", strings.Join(l.Keys, ", "), l.Name))
		}
	}
}

// comment writes text above a key, in lines that fit.
func comment(b *bytes.Buffer, text string) {
	if text == "" {
		return
	}
	for _, line := range wrap(text, 96) {
		fmt.Fprintf(b, "  # %s\n", line)
	}
}

// flow writes a value on one line of YAML.
func flow(v any) string {
	out, err := yaml.MarshalWithOptions(v, yaml.Flow(true), yaml.CustomMarshaler(scalarText))
	if err != nil {
		panic(fmt.Sprintf("run: writing a configuration: %v", err))
	}
	return strings.TrimSpace(string(out))
}
