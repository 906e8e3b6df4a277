package data

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// photosIn lists each images in every one of the given folders.
func photosIn(each int, folders ...string) (names []string) {
	for _, f := range folders {
		for k := range each {
			names = append(names, fmt.Sprintf("%s/IMG_%04d.png", f, k))
		}
	}
	return names
}

// nest returns the folders TOP/NAME, with the names that name returns for top t and folder f.
func nest(tops, each int, name func(t, f int) string) (folders []string) {
	for t := range tops {
		for f := range each {
			folders = append(folders, fmt.Sprintf("top %c/%s", 'a'+t, name(t, f)))
		}
	}
	return folders
}

// treeOfFolders is a set of folders, and what its levels should be.
type treeOfFolders struct {
	photos        []string
	train, scored string // both "" for one level
	why           string
}

func treesOfFolders() map[string]treeOfFolders {
	own := func(t, f int) string { return fmt.Sprintf("sku-%d-%d", t, f) }
	number := func(_, f int) string { return fmt.Sprintf("%02d", f) }
	character := func(_, f int) string { return fmt.Sprintf("character%02d", f+1) }
	burst := func(_, f int) string { return fmt.Sprintf("burst_%03d", f) }
	of := func(names ...string) []string {
		return photosIn(9, nest(6, len(names), func(_, f int) string { return names[f] })...)
	}
	letters := strings.Split("abcdefghijkl", "")
	return map[string]treeOfFolders{
		"products":           {photosIn(5, nest(5, 23, own)...), "fine", "fine", "5 images or more"},
		"three photos each":  {photosIn(3, nest(5, 4, own)...), "fine", "fine", "3 images or more"},
		"two photos each":    {photosIn(2, nest(5, 4, own)...), "coarse", "fine", "2 images or fewer"},
		"one photo each":     {photosIn(1, nest(5, 23, own)...), "coarse", "coarse", "one image"},
		"one folder less":    {photosIn(5, append(nest(4, 2, own), "z/only")...), "coarse", "fine", "9 folders"},
		"twice as many":      {photosIn(5, nest(5, 2, own)...), "fine", "fine", ""},
		"one folder in each": {photosIn(9, nest(5, 1, own)...), "coarse", "fine", "5 folders"},
		"alphabets":          {photosIn(4, nest(6, 32, character)...), "fine", "fine", ""},
		"numbered by each":   {photosIn(4, nest(5, 4, number)...), "fine", "fine", ""},
		"many shared words":  {of(letters...), "fine", "fine", ""},
		"cameras by name":    {of("Canon EOS 5D", "iPhone 12", "Nikon"), "coarse", "fine", "Canon EOS 5D"},
		"views":              {of("front", "side", "back"), "coarse", "fine", "back"},
		"dates":              {of("2024-05-01", "2024-05-02 Zoo", "20240601"), "coarse", "coarse", "2024-05-01"},
		"camera folders":     {of("100CANON", "101_PANA", "102_0731"), "coarse", "coarse", "100CANON"},
		"bursts":             {photosIn(9, nest(3, 20, burst)...), "coarse", "coarse", "burst"},
		"sessions":           {of("Session 1", "session-2", "cam1", "Camera b"), "coarse", "coarse", ""},
		"few dates":          {photosIn(9, append(nest(3, 4, own), "top a/2024-05-01")...), "fine", "fine", ""},
		"numbers like dates": {of("200412", "201399", "100123"), "fine", "fine", ""},
		"one folder for all": {photosIn(5, "all/cat", "all/dog"), "", "", ""},
		"unequal depths":     {append(photosIn(5, nest(3, 4, own)...), photosIn(5, "top z")...), "", "", ""},
		"three levels":       {photosIn(5, "a/b/c", "a/b/d", "e/f/g"), "", "", ""},
		"one level":          {photosIn(5, "cat", "dog"), "", "", ""},
		"split on top": {photosIn(5, "train/pet/cat", "train/pet/dog", "test/pet/cat", "test/pet/dog", "test/wild/fox",
			"test/wild/wolf"), "fine", "fine", ""},
		"split of classes": {photosIn(5, "train/cat", "train/dog", "test/cat", "test/dog"), "", "", ""},
	}
}

// The sizes and names of folders choose the column that trains. Columns keep their names, whatever the choice.
func TestLabelsOfTwoLevels(t *testing.T) {
	for name, c := range treesOfFolders() {
		d := photosOf(c.photos)
		if c.train == "" {
			if d.Levels != nil || d.Train != "class" || d.Fine != "class" {
				t.Errorf("%s: %#v, trains with %s", name, d.Levels, d.Train)
			}
			continue
		}
		if d.Levels == nil {
			t.Errorf("%s: no levels", name)
			continue
		}
		if d.Train != c.train || d.Levels.Label != c.train || d.Levels.Scored != c.scored ||
			!strings.Contains(d.Levels.Why, c.why) {
			t.Errorf("%s: %#v, want %s and %s", name, d.Levels, c.train, c.scored)
		}
		top, err1 := d.Column("coarse")
		folder, err2 := d.Column("fine")
		label, err3 := d.Column("label")
		if err1 != nil || err2 != nil || err3 != nil || len(top.Classes) != d.Levels.Coarse ||
			len(folder.Classes) != d.Levels.Fine || label != folder {
			t.Errorf("%s: columns %v %v %v", name, err1, err2, err3)
		}
	}
}

// What the user names wins.
func TestLabelColumns(t *testing.T) {
	for name, c := range treesOfFolders() {
		d := photosOf(c.photos)
		if train, scored := d.LabelColumns("", ""); train != c.train || scored != c.scored {
			t.Errorf("%s: columns %q and %q", name, train, scored)
		}
		for _, set := range []string{"fine", "coarse", "parity"} {
			want := "fine"
			if set == c.train {
				want = c.scored
			} else if c.train == "" {
				want = ""
			}
			if train, scored := d.LabelColumns(set, ""); train != set || scored != want {
				t.Errorf("%s: %s gives the columns %s and %s", name, set, train, scored)
			}
			if train, scored := d.LabelColumns(set, "coarse"); train != set || scored != "coarse" {
				t.Errorf("%s: %s and coarse give the columns %s and %s", name, set, train, scored)
			}
		}
	}
}

// photosOf opens a set of the given files in folders.
func photosOf(names []string) *Dataset {
	l := layoutFiles{}
	for _, name := range names {
		l[name] = []byte("x")
	}
	d, err := OpenFS(context.Background(), l.fs(), "photos", OpenOptions{})
	if err != nil {
		panic(err)
	}
	return d
}

func TestSayLevels(t *testing.T) {
	d := photosOf(photosIn(4, nest(5, 4, func(t, f int) string { return fmt.Sprint(t, "-", f) })...))
	for label, want := range map[string]string{
		"fine": "fine, the folders in the top ones, as half of them have 4 images or more (5 top folders with 20 " +
			"folders in them, 4 images in the median one); --label coarse takes the top folders",
		"coarse": "coarse, the top folders (5 top folders with 20 folders in them, 4 images in the median one); " +
			"--label fine takes the folders in the top ones",
		"parity": "",
	} {
		if got := d.Levels.Explain(label, "--label "); got != want {
			t.Errorf("%s: %s", label, got)
		}
	}
}

// A set of one level whose only column has another name answers to the names of roles.
func TestColumnsOfOneLevel(t *testing.T) {
	d := photosOf(photosIn(2, "cat", "dog"))
	for _, name := range []string{"", "fine", "label", "class"} {
		if c, err := d.Column(name); err != nil || c.Name != "class" {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := d.Column("coarse"); err == nil || !strings.Contains(err.Error(), "class") {
		t.Errorf("coarse: %v", err)
	}
	if train, scored := d.LabelColumns("", ""); train != "" || scored != "" {
		t.Errorf("columns %q and %q", train, scored)
	}
}
