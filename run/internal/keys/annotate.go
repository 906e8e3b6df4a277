package keys

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Annotate writes the configuration given as commented YAML for people to edit. resolved is
// the same configuration with the keys that the data decide filled in. Every section begins
// with the most important keys and the keys that given changes, at their resolved values. The
// other keys follow as comments with their defaults, and with their resolved values if these
// differ. The help of each key is above it.
//
// Parse reads the result. Removing the comment sign before a key does not change what the
// configuration means.
func (t *Table[C]) Annotate(given, resolved *C) []byte {
	var b bytes.Buffer
	for k, s := range t.Sections {
		if k > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:\n", s)
		if m, free := t.FreeSection(resolved, s); free {
			t.annotateFree(&b, s, m)
			continue
		}
		t.annotateFixed(&b, s, given, resolved)
	}
	return b.Bytes()
}

// annotateFixed writes a section whose keys are all in the table.
func (t *Table[C]) annotateFixed(b *bytes.Buffer, section string, given, resolved *C) {
	type line struct {
		help, name, value, came string
		rank                    int // among important
		set                     bool
	}
	var lines []line
	for i := range t.Keys {
		k := &t.Keys[i]
		if k.section() != section {
			continue
		}
		def, came := k.defaultValue(), t.Value(resolved, k)
		l := line{help: k.Help, name: k.shortName(), rank: slices.Index(t.Important, k.Name)}
		changed := !reflect.DeepEqual(t.Value(given, k), def)
		differs := !reflect.DeepEqual(came, def)
		l.set = changed || l.rank >= 0 && (differs || !reflect.ValueOf(def).IsZero())
		if l.set {
			l.value = flowText(came)
		} else {
			l.value = flowText(def)
			if differs {
				l.came = flowText(came)
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
			comment(b, "value for these data: "+l.came)
		}
		mark := ""
		if !l.set {
			mark = "#"
		}
		fmt.Fprintf(b, "  %s%s: %s\n", mark, l.name, l.value)
	}
}

// annotateFree writes the section loss or mine, whose keys depend on the loss.
func (t *Table[C]) annotateFree(b *bytes.Buffer, section string, m map[string]any) {
	var names []string
	for k := range m {
		names = append(names, k)
	}
	slices.SortFunc(names, func(x, y string) int {
		a, b := slices.Index(t.Important, section+"."+x), slices.Index(t.Important, section+"."+y)
		if a < 0 || b < 0 || a == b {
			return strings.Compare(x, y)
		}
		return a - b
	})
	for _, name := range names {
		if k := t.Lookup(section + "." + name); k != nil {
			help := k.Help
			if section == "loss" && len(k.Values) > 0 {
				help += ": " + strings.Join(k.Values, ", ")
			}
			comment(b, help)
		}
		fmt.Fprintf(b, "  %s: %s\n", name, flowText(m[name]))
	}
	comment(b, t.FurtherKeys(section, m))
}

// comment writes text as wrapped comment lines above a key.
func comment(b *bytes.Buffer, text string) {
	if text == "" {
		return
	}
	for _, line := range Wrap(text, 96) {
		fmt.Fprintf(b, "  # %s\n", line)
	}
}

// Wrap breaks text between words into lines of at most width bytes. A longer word has its own
// line.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + w)
	}
	return append(lines, line)
}
