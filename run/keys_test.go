package run

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestBounds tries the last value that is taken and the first that is not, for
// every key with a bound. One value serves as a list where that is wanted.
func TestBounds(t *testing.T) {
	for key, c := range map[string]struct{ good, bad []string }{
		"data.name":          {[]string{"a"}, nil},
		"data.size":          {[]string{"0", "4096"}, []string{"-1", "4097"}},
		"data.channels":      {[]string{"0", "1", "3"}, []string{"-1", "2", "4"}},
		"data.fit":           {[]string{`""`, "stretch", "cover"}, []string{"fill"}},
		"data.shorter":       {[]string{"0"}, []string{"-1"}},
		"data.resample":      {[]string{`""`, "bilinear", "box"}, []string{"cubic"}},
		"data.colours":       {[]string{`""`, "raw"}, []string{"p3"}},
		"data.augment":       {[]string{"light"}, []string{"lite"}},
		"data.pixels":        {[]string{"imagenet"}, []string{"imagnet"}},
		"data.train_limit":   {[]string{"0"}, []string{"-1"}},
		"data.test_limit":    {[]string{"0"}, []string{"-1"}},
		"network.dim":        {[]string{"0", "1"}, []string{"-1"}},
		"network.width":      {[]string{"0"}, []string{"-1"}},
		"network.multiple":   {[]string{"0"}, []string{"-0.1"}},
		"network.dropout":    {[]string{"0", "0.99"}, []string{"-0.1", "1"}},
		"sample.classes":     {[]string{"0"}, []string{"-1"}},
		"sample.per_class":   {[]string{"0"}, []string{"-1"}},
		"sample.batches":     {[]string{"0"}, []string{"-1"}},
		"train.epochs":       {[]string{"0", "1"}, []string{"-1"}},
		"train.minutes":      {[]string{"0", "0.5", "527040"}, []string{"-1", ".nan", ".inf", "527041"}},
		"train.optimizer":    {[]string{"adam", "adamw", "sgd"}, []string{"lion"}},
		"train.schedule":     {[]string{"constant", "cosine"}, []string{"linear", "step"}},
		"train.lr":           {[]string{"0", "1e-9"}, []string{"-1", ".nan"}},
		"train.depth":        {[]string{"0", "0.1", "1"}, []string{"-1", "1.1"}},
		"train.patience":     {[]string{"0", "3"}, []string{"-1"}},
		"network.head":       {[]string{"pca", "random"}, []string{"x"}},
		"network.precision":  {[]string{"float32", "bfloat16", `""`}, []string{"half"}},
		"train.loss_lr":      {[]string{"0"}, []string{"-1"}},
		"train.momentum":     {[]string{"0", "0.99"}, []string{"1", "-0.1"}},
		"train.weight_decay": {[]string{"0"}, []string{"-1"}},
		"train.clip":         {[]string{"0"}, []string{"-1"}},
		"train.steps":        {[]string{"[]", "1", "[1, 2]", "[2, 2]"}, []string{"0", "[2, 1]"}},
		"train.gamma":        {[]string{"0.5"}, []string{"0"}},
		"train.warmup":       {[]string{"0"}, []string{"-1"}},
		"train.checkpoint":   {[]string{"0"}, []string{"-1"}},
		"train.groups": {[]string{"[{prefix: a, scale: 0}]"},
			[]string{"[{prefix: a, scale: -1}]", "[{scale: 1}]"}},
		"eval.recall":   {[]string{"1"}, []string{"[]", "0", "[1, 0]"}},
		"eval.every":    {[]string{"1"}, []string{"0"}},
		"eval.train":    {[]string{"-1", "0"}, []string{"-2"}},
		"eval.batch":    {[]string{"1"}, []string{"0"}},
		"eval.distance": {[]string{"cosine"}, []string{"manhattan"}},
		"eval.metrics":  {[]string{"[]", "fine:nmi", "label:map@r"}, []string{"coarse:nmi", "fine:"}},
	} {
		for _, v := range c.good {
			if _, err := Parse("f", nil, key+"="+v); err != nil {
				t.Errorf("%s=%s: %v", key, v, err)
			}
		}
		for _, v := range c.bad {
			_, err := Parse("f", nil, key+"="+v)
			if err == nil || !strings.Contains(err.Error(), key) &&
				!(key == "train.schedule" && strings.Contains(err.Error(), "train.steps")) {
				t.Errorf("%s=%s: %v", key, v, err)
			}
		}
	}
	if _, err := Parse("f", nil, "train.schedule=step", "train.steps=3"); err != nil {
		t.Error(err)
	}
	// A name with a slash is a path, unless the path itself is given beside it.
	for _, c := range []struct {
		name, path string
		good       bool
	}{{"a/b", "", true}, {"a/b", "a/b", true}, {"a/b", "c", false}, {`a\b`, "c", false}, {"a", "c", true}} {
		if _, err := Parse("f", nil, "data.name="+c.name, fmt.Sprintf("data.path=%q", c.path)); (err == nil) != c.good {
			t.Errorf("data.name=%s data.path=%s: %v", c.name, c.path, err)
		}
	}
}

// Every field of a configuration has a key of the same section, and no two keys have the
// same field.
func TestEveryFieldHasAKey(t *testing.T) {
	c := Default()
	of := map[any]string{}
	for i := range table.Keys {
		k := &table.Keys[i]
		if k.Pointer(&c) == nil {
			continue
		}
		if other, taken := of[k.Pointer(&c)]; taken {
			t.Errorf("%s and %s have one field", other, k.Name)
		}
		of[k.Pointer(&c)] = k.Name
	}
	sections := reflect.ValueOf(&c).Elem()
	for i := range sections.NumField() {
		section := strings.ToLower(sections.Type().Field(i).Name)
		if _, free := table.FreeSection(&c, section); free {
			continue
		}
		for j := range sections.Field(i).NumField() {
			if !sections.Field(i).Type().Field(j).IsExported() {
				continue
			}
			name, field := of[sections.Field(i).Field(j).Addr().Interface()], sections.Field(i).Type().Field(j).Name
			want := section + "." + strings.ToLower(field)
			if strings.ReplaceAll(name, "_", "") != want {
				t.Errorf("the key of %s is %q", want, name)
			}
		}
	}
}

// What is unset is told from what is set, for values of every type.
func TestKeysAreUnset(t *testing.T) {
	for i := range table.Keys {
		k := &table.Keys[i]
		c := Default()
		if table.Unset(&c, k) != (k.Default == nil) {
			t.Errorf("%s by default: %v", k.Name, table.Value(&c, k))
		}
		was := table.Value(&c, k)
		table.Set(&c, k, nil)
		if !table.Unset(&c, k) {
			t.Errorf("%s: %v is not unset", k.Name, table.Value(&c, k))
		}
		if table.Set(&c, k, was); !reflect.DeepEqual(table.Value(&c, k), was) {
			t.Errorf("%s: %v came back as %v", k.Name, was, table.Value(&c, k))
		}
	}
	mine, other := Default(), Default()
	mine.Eval.Recall[0] = 9
	if other.Eval.Recall[0] == 9 || Default().Eval.Recall[0] == 9 {
		t.Error("configurations share their lists")
	}
}

// The words that a key is completed by are taken; of keys that are for some configurations
// alone, in one of these.
func TestKeysTakeTheirValues(t *testing.T) {
	offered := 0
	for _, k := range Keys() {
		for _, v := range k.Values {
			set := []string{k.Name + "=" + v}
			switch {
			case k.Name == "train.schedule":
				set = append(set, "train.steps=3")
			case k.Name == "loss.triplets" || k.Name == "loss.single":
				set = append(set, "loss.name=margin")
			case k.Name == "mine.positives" && v == "semihard":
				set = append(set, "mine.negatives=hard")
			}
			if _, err := Parse("", nil, set...); err != nil {
				t.Errorf("%v: %v", set, err)
			}
			offered++
		}
	}
	if offered < 100 {
		t.Errorf("%d values only", offered)
	}
	fixed := func(name string) bool {
		return slices.ContainsFunc(Reference(), func(k Key) bool { return k.Name == name })
	}
	if !fixed("data.size") || fixed("loss.name") {
		t.Errorf("keys of sections with fixed keys: %v", Reference())
	}
}

// Values of a Switch are text both ways, with auto for the zero value.
func TestSwitchAsText(t *testing.T) {
	for s, want := range map[Switch]string{Auto: "auto", On: "true", Off: "false"} {
		text, err := s.MarshalText()
		var again Switch = "x"
		if err2 := again.UnmarshalText(text); err != nil || err2 != nil || again != s || string(text) != want ||
			fmt.Sprint(s) != want {
			t.Errorf("%q: %s, %q, %v, %v", string(s), text, again, err, err2)
		}
	}
	if err := new(Switch).UnmarshalText(nil); err == nil {
		t.Error("no text was taken")
	}
}

// TestReference compares the table of keys in docs/configuration.md with the
// configuration; KINDRED_UPDATE=1 rewrites it.
func TestReference(t *testing.T) {
	path := filepath.Join("..", "docs", "configuration.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| key | default | meaning |\n|---|---|---|\n")
	for _, k := range Reference() {
		if k.Help == "" {
			t.Errorf("%s has no explanation", k.Name)
		}
		fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", k.Name, k.Default, strings.ReplaceAll(k.Help, "|", "\\|"))
	}
	between := regexp.MustCompile(`(?s)<!-- keys -->\n.*<!-- /keys -->`)
	if !between.Match(text) {
		t.Fatalf("%s has no table between <!-- keys --> and <!-- /keys -->", path)
	}
	want := between.ReplaceAllLiteralString(string(text), "<!-- keys -->\n"+table.String()+"<!-- /keys -->")
	if want == string(text) {
		return
	}
	if os.Getenv("KINDRED_UPDATE") == "" {
		t.Fatalf("%s does not list the keys as they are; KINDRED_UPDATE=1 go test ./run -run TestReference "+
			"rewrites it", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDocumentedExample parses the YAML and the settings of the pages on training and on configurations.
func TestDocumentedExample(t *testing.T) {
	setting := regexp.MustCompile("--set ([a-z_.]+=[^` \n]+)")
	examples := 0
	for _, page := range []string{"training.md", "configuration.md"} {
		text, err := os.ReadFile(filepath.Join("..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
		examples += len(blocks)
		for _, b := range blocks {
			if _, err := Parse(page, b[1]); err != nil {
				t.Error(err)
			}
		}
		for line := range strings.Lines(string(text)) { // what one command sets goes together
			var sets []string
			for _, m := range setting.FindAllStringSubmatch(line, -1) {
				if m[1] != "section.key=value" { // the general form
					sets = append(sets, m[1])
				}
			}
			if _, err := Parse(page, nil, sets...); err != nil {
				t.Error(err)
			}
		}
	}
	if examples == 0 {
		t.Fatal("no example found")
	}
}
