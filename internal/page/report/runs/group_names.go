package runs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/run"
)

// pathSettings are the settings whose values are paths, which can be spelt in several ways.
var pathSettings = []string{"data.path", "data.labels", "network.pretrained"}

// settingValue returns the value of a setting, and of a path the place that it leads to.
func settingValue(s run.Setting) string {
	if slices.Contains(pathSettings, s.Key) {
		return resolvePath(s.Value)
	}
	return s.Value
}

// resolvePath returns the place that a path leads to, however it is spelt. A text that is no path on this machine is
// returned unchanged.
func resolvePath(path string) string {
	if path == "" || strings.Contains(path, "://") {
		return path
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if target, err := filepath.EvalSymlinks(full); err == nil {
		return target
	}
	return full
}

// firstSettings are the settings that names of groups use before others.
var firstSettings = []string{"loss.name", "network.name", "network.pretrained", "data.name", "data.path"}

// orderDiffering moves the keys of Differ that tell the groups apart to the front, and returns them. A key
// that follows from those before it, such as the miner from the loss, tells nothing.
func (c *Comparison) orderDiffering(value func(g *Group, key string) string) []string {
	keys := slices.Clone(c.Differ)
	rank := func(k string) int {
		if i := slices.Index(firstSettings, k); i >= 0 {
			return i
		}
		return len(firstSettings)
	}
	slices.SortStableFunc(keys, func(a, b string) int { return rank(a) - rank(b) })
	var telling, rest []string
	parts := make([]string, len(c.Groups)) // what the telling keys say of each group
	apart := 1
	for _, k := range keys {
		finer, kinds := make([]string, len(parts)), map[string]bool{}
		for i := range c.Groups {
			finer[i] = fmt.Sprintf("%s%q", parts[i], value(&c.Groups[i], k))
			kinds[finer[i]] = true
		}
		if len(kinds) > apart {
			telling, parts, apart = append(telling, k), finer, len(kinds)
		} else {
			rest = append(rest, k)
		}
	}
	c.Differ = append(slices.Clone(telling), rest...)
	return telling
}

// nameGroups names the groups: by the folder of the only run, if no other group has one of that name, or by the telling
// settings.
func (c *Comparison) nameGroups(telling []string) {
	folders := map[string]int{}
	for _, g := range c.Groups {
		if len(g.Runs) == 1 {
			folders[g.Runs[0].Name()]++
		}
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		if g.Name = g.Runs[0].Name(); len(g.Runs) > 1 || folders[g.Name] > 1 {
			g.Name = g.settingsName(telling)
		}
	}
	used := map[string]int{}
	for i := range c.Groups {
		g := &c.Groups[i]
		if used[g.Name]++; used[g.Name] > 1 {
			g.Name = fmt.Sprintf("%s (%d)", g.Name, used[g.Name])
		}
	}
}

// settingsName returns the telling settings of a group in words, such as "arcface, lr 0.01".
func (g *Group) settingsName(telling []string) string {
	var parts []string
	for _, k := range telling {
		section, word, _ := strings.Cut(k, ".")
		v := g.Runs[0].setting(k)
		switch {
		case v == "" && word == "name":
			parts = append(parts, "no "+section)
		case v == "":
			parts = append(parts, "no "+word)
		case word == "name":
			parts = append(parts, v)
		case slices.Contains(pathSettings, k):
			parts = append(parts, word+" "+filepath.Base(v))
		default:
			parts = append(parts, word+" "+v)
		}
	}
	if parts == nil {
		return "all seeds"
	}
	return strings.Join(parts, ", ")
}

// optNames is the option of the names of rows.
const optNames option.Option = "runs.View.Names"

// renameGroups gives the groups the names of a user. Each has the form RUN=NAME, where RUN is the folder of
// one of the runs.
func (c *Comparison) renameGroups(names []string) error {
	given := map[int]string{}
	for _, text := range names {
		at, name := c.parseName(text)
		switch {
		case at < 0:
			return option.Errorf("%s %q: want RUN=NAME, where RUN is the folder of a run that is compared", optNames,
				text)
		case strings.TrimSpace(name) == "":
			return option.Errorf("%s %q: the name after = is empty", optNames, text)
		case given[at] != "" && given[at] != name:
			return option.Errorf("%s %q: the runs that differ only in the seed are called %q already", optNames,
				text, given[at])
		}
		given[at] = name
		c.Groups[at].Name = name
	}
	used := map[string]bool{}
	for _, g := range c.Groups {
		if used[g.Name] {
			return option.Errorf("%s %q: two rows have this name: give them different names", optNames, g.Name)
		}
		used[g.Name] = true
	}
	return nil
}

// parseName returns the group that a text RUN=NAME is about, or -1, and the name. Either may contain further
// equals signs.
func (c *Comparison) parseName(text string) (group int, name string) {
	for at, r := range text {
		if r != '=' {
			continue
		}
		dir := resolvePath(text[:at])
		for i, g := range c.Groups {
			if slices.ContainsFunc(g.Runs, func(r *Run) bool { return dir == resolvePath(r.Dir()) }) {
				return i, text[at+1:]
			}
		}
	}
	return -1, ""
}
