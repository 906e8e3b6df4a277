package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/test/archives"
	"github.com/kindred-ml/kindred/internal/test/budgettest"
	"github.com/kindred-ml/kindred/internal/test/refdata"
)

// shardFiles is a set of two training shards and a test shard, with labels in .cls.
func shardFiles(t testing.TB) layoutFiles {
	return layoutFiles{
		"set-train-000000.tar": archives.Tar(t, "000000.png", picture(t, 8, 8, 1), "000000.cls", "3\n",
			"000001.cls", "5", "000001.png", picture(t, 8, 8, 2), "000001.json", `{"shop": "b"}`),
		"set-train-000001.tar": archives.Tar(t, "a/000000.png", picture(t, 8, 8, 3), "a/000000.cls", "3",
			"a/000000.seg.png", picture(t, 8, 8, 9), "._x.png", "x"),
		"set-test-000000.tar": archives.Tar(t, "000000.png", picture(t, 8, 8, 4), "000000.cls", " 5 "),
	}
}

func TestWebDataset(t *testing.T) {
	files := shardFiles(t)
	dir := files.folder(t)
	d := open(t, dir)
	want := []string{"set-test-000000.tar/000000.png", "set-train-000000.tar/000000.png",
		"set-train-000000.tar/000001.png", "set-train-000001.tar/a/000000.png"}
	if d.Layout != "webdataset" || !slices.Equal(d.Names, want) {
		t.Fatalf("%s: %q", d.Layout, d.Names)
	}
	c, err := d.Column("cls")
	if err != nil || !slices.Equal(c.Classes, []string{"3", "5"}) || !slices.Equal(c.IDs, []int64{1, 0, 1, 0}) ||
		!slices.Equal(c.Numbers, []int64{3, 5}) {
		t.Errorf("%+v, %v", c, err)
	}
	if !slices.Equal(d.Splits, []Split{Test, Train, Train, Train}) || d.Disjoint {
		t.Errorf("%v, %v", d.Splits, d.Disjoint)
	}
	if len(d.LeftOut) != 1 || d.LeftOut[0].Count != 1 ||
		d.LeftOut[0].First[0] != "set-train-000001.tar/a/000000.seg.png" {
		t.Errorf("%v", d.LeftOut)
	}
	for i, v := range []uint8{4, 1, 2, 3} {
		var im imaging.Image
		if err := d.Image(t.Context(), i, &im, nil); err != nil || im.Pix[0] != v {
			t.Errorf("%s: %v, %v", d.Names[i], im.Pix[:1], err)
		}
	}
	if !d.HasLocalFiles() {
		t.Error("shards in a folder are not searched for bursts")
	}
	// The same by a pattern, by a list, from a file system, and one shard alone.
	pattern := filepath.Join(dir, "set-{test-000000,train-{000000..000001}}.tar")
	if _, err := Open(t.Context(), pattern, OpenOptions{}); err == nil ||
		!strings.Contains(err.Error(), "before the next") {
		t.Errorf("%v", err)
	}
	write(t, filepath.Join(dir, "sub", "list.txt"), []byte("# two\n../set-train-{000000..000001}.tar\n\n"))
	write(t, filepath.Join(dir, "list.txt"), []byte("set-train-000000.tar\nset-train-000001.tar\n"))
	for what, o := range map[string]OpenOptions{"set-train-{000000..000001}.tar": {}, "list.txt": {},
		"sub/list.txt": {Outside: true}} {
		p, err := Open(t.Context(), filepath.Join(dir, what), o)
		if err != nil || p.Len() != 3 || path.Base(p.Names[2]) != "000000.png" {
			t.Fatalf("%s: %v", what, err)
		}
		readable(t, p)
	}
	if _, err := Open(t.Context(), filepath.Join(dir, "sub/list.txt"), OpenOptions{}); err == nil ||
		!strings.Contains(err.Error(), "list.txt:2: ../set-train-000000.tar leads outside") {
		t.Errorf("%v", err)
	}
	one := open(t, filepath.Join(dir, "set-train-000000.tar"))
	if one.Name != "set-train-000000" || one.Len() != 2 {
		t.Errorf("%s: %q", one.Name, one.Names)
	}
	m := fstest.MapFS{}
	for name, b := range files {
		m["deep/"+name] = &fstest.MapFile{Data: b, ModTime: time.Unix(1, 0)}
	}
	f, err := OpenFS(t.Context(), m, "own", OpenOptions{})
	if err != nil || f.Len() != 4 || f.Names[0] != "deep/set-test-000000.tar/000000.png" || f.HasLocalFiles() {
		t.Fatalf("%v", err)
	}
	readable(t, f)
}

// TestWebDatasetLabels: where labels come from, and what is asked for besides.
func TestWebDatasetLabels(t *testing.T) {
	im := picture(t, 4, 4, 1)
	for name, c := range map[string]struct {
		members []any
		opt     OpenOptions
		want    string // column=classes by sample, ...
		err     string
	}{
		"json": {[]any{"a.png", im, "a.json", `{"label": "Wren", "x": [1]}`, "b.png", im, "b.json", `{"label":"Tit"}`},
			OpenOptions{}, "label=Wren,Tit", ""},
		"numbers": {[]any{"a.png", im, "a.json", `{"class": 12}`, "b.png", im, "b.json", `{"class": 7}`}, OpenOptions{},
			"class=12,7", ""},
		"cls before json": {[]any{"a.png", im, "a.json", `{"label": "x"}`, "a.cls", "9"}, OpenOptions{}, "cls=9", ""},
		"asked for": {[]any{"a.png", im, "a.json", `{"label": "x", "at": {"shop": true}}`},
			OpenOptions{Columns: []string{"at.shop", "nowhere", "label"}}, "label=x at.shop=true", ""},
		"text":     {[]any{"a.png", im, "a.txt", "a  red\nbird\n"}, OpenOptions{}, "txt=a red bird", ""},
		"not text": {[]any{"a.png", im, "a.txt", "long", "a.cls", "1"}, OpenOptions{}, "cls=1", ""},
		"text asked": {[]any{"a.png", im, "a.txt", "long", "a.cls", "1"},
			OpenOptions{Columns: []string{"txt"}}, "cls=1 txt=long", ""},
		"folders":     {[]any{"x/a.png", im, "y/b.png", im}, OpenOptions{}, "class=x,y", ""},
		"none":        {[]any{"a.png", im, "b.png", im}, OpenOptions{}, "", "no image has a label"},
		"none needed": {[]any{"a.png", im, "b.png", im}, OpenOptions{Unlabelled: true}, "", ""},
		"one lacks it": {[]any{"a.png", im, "a.cls", "1", "b.png", im}, OpenOptions{},
			"cls=1 left out 1: without the label " + "that others have (cls): s.tar/b.png", ""},
		"no object": {[]any{"a.png", im, "a.json", `[1]`}, OpenOptions{}, "", "s.tar: a.json: not a JSON object"},
		"no JSON": {[]any{"a.png", im, "a.json", `{"label": `}, OpenOptions{}, "", "s.tar: a.json: not a JSON " +
			"object"},
		"no image": {[]any{"a.cls", "1"}, OpenOptions{}, "", "no image in 1 shards"},
		"escapes":  {[]any{"../a.png", im}, OpenOptions{}, "", `"../a.png" leads outside`},
		"long label": {[]any{"a.png", im, "a.cls", make([]byte, 1<<20+1)}, OpenOptions{}, "",
			"a.cls: the description has 1 MiB"},
		"twice": {[]any{"a.png", im, "a.cls", "1", "b.png", im, "b.cls", "1", "a.png", im, "a.cls", "2"},
			OpenOptions{}, "", "two images of this name"},
		"control": {[]any{"a.png", im, "a.cls", "a\x00b"}, OpenOptions{}, "", "control character"},
	} {
		dir := layoutFiles{"s.tar": archives.Tar(t, c.members...)}.folder(t)
		d, err := Open(t.Context(), dir, c.opt)
		if c.err != "" || err != nil {
			if err == nil || c.err == "" || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", name, err, c.err)
			}
			continue
		}
		var got []string
		for _, col := range d.Columns {
			var of []string
			for _, id := range col.IDs {
				of = append(of, col.Classes[id])
			}
			got = append(got, col.Name+"="+strings.Join(of, ","))
		}
		for _, l := range d.LeftOut {
			got = append(got, l.String())
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}

// TestWebDatasetClassNames: a list beside the shards, or above them, names the numbers.
func TestWebDatasetClassNames(t *testing.T) {
	shard := archives.Tar(t, "a.png", picture(t, 4, 4, 1), "a.cls", "2", "b.png", picture(t, 4, 4, 1), "b.cls", "0")
	for list, want := range map[string]string{"crane\nwren\ncrane\n": "crane (0),crane (2)", "x\ny\nz": "x,z",
		"x\ny": "names 2 classes, but a sample has class 2"} {
		dir := layoutFiles{"test/0.tar": shard, "classnames.txt": []byte(list)}.folder(t)
		d, err := Open(t.Context(), dir, OpenOptions{})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = strings.Join(d.Columns[0].Classes, ",")
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestShardGroups: a key of the JSON divides, where it is asked for.
func TestShardGroups(t *testing.T) {
	dir := layoutFiles{"s.tar": archives.Tar(t, "a.png", picture(t, 4, 4, 1), "a.cls", "2", "a.json", `{"session": 8}`,
		"b.png", picture(t, 4, 4, 1), "b.cls", "2")}.folder(t)
	d, err := Open(t.Context(), dir, OpenOptions{Group: "session"})
	if err != nil || d.Group == nil || d.Group.Classes[d.Group.IDs[0]] != "8" || d.Group.Classes[d.Group.IDs[1]] != "" {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := Open(t.Context(), dir, OpenOptions{Group: "none"}); err != nil || d.Group != nil {
		t.Errorf("%v, %v", d, err)
	}
}

// TestShardChanges: a shard that changes after it was indexed is an error of each image, and no
// other image is read in its place.
func TestShardChanges(t *testing.T) {
	dir := shardFiles(t).folder(t)
	d := open(t, dir)
	at := filepath.Join(dir, "set-train-000000.tar")
	write(t, at, archives.Tar(t, "x.png", picture(t, 8, 8, 77)))
	var im imaging.Image
	if err := d.Image(t.Context(), 1, &im, nil); err == nil || !strings.Contains(err.Error(), "has changed") ||
		!strings.Contains(err.Error(), "set-train-000000.tar/000000.png") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if err := d.Image(t.Context(), 1, &im, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestShardReplaced: another shard of the same size and time in the place of one is noticed, wherever
// the system tells files apart.
func TestShardReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("size and time are all that is known of a file")
	}
	dir := t.TempDir()
	at, other := filepath.Join(dir, "set-train-000000.tar"), filepath.Join(dir, "other")
	write(t, at, archives.Tar(t, "a.png", picture(t, 8, 8, 7), "a.cls", "1", "b.png", picture(t, 8, 8, 9), "b.cls",
		"2"))
	d := open(t, dir)
	info, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	write(t, other, archives.Tar(t, "a.png", picture(t, 8, 8, 7), "a.cls", "1", "b.png", picture(t, 8, 8, 8), "b.cls",
		"2"))
	if err := errors.Join(os.Chtimes(other, info.ModTime(), info.ModTime()), os.Rename(other, at)); err != nil {
		t.Fatal(err)
	}
	now, err := os.Stat(at)
	if err != nil || now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime()) {
		t.Fatalf("%d and %d bytes, %v", info.Size(), now.Size(), err)
	}
	var im imaging.Image
	if err := d.Image(t.Context(), 1, &im, nil); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("%v", err)
	}
}

// damage is b with a few bytes changed, or cut.
func damage(rng *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	if rng.IntN(2) == 0 {
		return b[:rng.IntN(len(b))]
	}
	for range 1 + rng.IntN(8) {
		b[rng.IntN(len(b))] ^= byte(1 + rng.IntN(255))
	}
	return b
}

// TestDamagedShards: of 200 shards that are cut and 200 that are changed, none gives another
// picture without a word, each error names the shard, and memory stays within the limit.
func TestDamagedShards(t *testing.T) {
	budgettest.Limit(t, 8<<20)
	good := archives.Tar(t, "a.png", picture(t, 40, 40, 1), "a.cls", "2", "b.png", picture(t, 40, 40, 7), "b.json",
		`{"label": "x"}`, "b.cls", "3", "c.png", picture(t, 40, 40, 9), "c.cls", "3")
	rng := rand.New(rand.NewPCG(5, 6))
	dir := t.TempDir()
	said := 0
	for n := range 400 {
		write(t, filepath.Join(dir, "s-0.tar"), damage(rng, good))
		taken := budgettest.Allocated(func() {
			d, err := Open(t.Context(), dir, OpenOptions{})
			if err != nil {
				said++
				if !strings.Contains(err.Error(), "s-0.tar") && !strings.Contains(err.Error(), "no images in class") &&
					!strings.Contains(err.Error(), "no image") {
					t.Errorf("%d: %v", n, err)
				}
				return
			}
			if len(d.Notes)+len(d.LeftOut) > 0 || d.Len() < 3 {
				said++
			}
			for i := range d.Names {
				var im imaging.Image
				err := d.Image(t.Context(), i, &im, nil)
				if err != nil && !strings.Contains(err.Error(), "s-0.tar/") {
					t.Errorf("%d: %v", n, err)
				}
				if err != nil {
					said++
				}
			}
		})
		if taken > 16<<20 {
			t.Errorf("%d: %s taken", n, budget.Format(taken))
		}
	}
	if said < 300 {
		t.Errorf("only %d of 400 were noticed", said)
	}
}

// TestShardListsAreBounded: the list of more images than fit in memory is an error.
func TestShardListsAreBounded(t *testing.T) {
	var members []any
	for i := range 3000 {
		members = append(members, fmt.Sprintf("%05d.png", i), "")
	}
	dir := layoutFiles{"s.tar": archives.Tar(t, members...)}.folder(t)
	budgettest.Limit(t, 600_000)
	var over *budget.Error
	if _, err := Open(t.Context(), dir, OpenOptions{Unlabelled: true}); !errors.As(err, &over) {
		t.Errorf("%v", err)
	}
}

func TestShardsStopWithTheContext(t *testing.T) {
	dir := shardFiles(t).folder(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Open(ctx, dir, OpenOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// FuzzWebDataset reads any bytes as a shard.
func FuzzWebDataset(f *testing.F) {
	for _, b := range shardFiles(f) {
		f.Add(b)
		f.Add(b[:len(b)-1100])
	}
	f.Add(archives.Tar(f, "a.png", "", "b.png", "")) // without labels
	f.Add(archives.Tar(f, "a.png", "", "a.json", `{"label": "x", "at": {"b": 1}}`, "a.txt", "t"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := fstest.MapFS{"s.tar": &fstest.MapFile{Data: b}}
		d, err := OpenFS(t.Context(), m, "fuzz", OpenOptions{Unlabelled: true, Columns: []string{"at.b"}, Group: "g"})
		if err != nil {
			return
		}
		checkDataset(t, d)
		for i := range d.Names {
			var im imaging.Image
			_ = d.Image(t.Context(), i, &im, nil)
		}
	})
}

// TestPythonShards: what Python's tarfile writes, in its default format and in GNU's, is what the
// archive holds that it was made of.
func TestPythonShards(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: ", err)
	}
	zip := filepath.Join(refdata.Path(t, "data", "cub100"), "cub100_128px.zip")
	dir := t.TempDir()
	const script = `
import io, sys, tarfile, zipfile
z = zipfile.ZipFile(sys.argv[1])
names = sorted(n for n in z.namelist() if n.endswith('.jpg'))[::60]
for k in range(2):
    with tarfile.open(sys.argv[2] + '/s-%d.tar' % k, 'w', format=[tarfile.PAX_FORMAT, tarfile.GNU_FORMAT][k]) as t:
        for n in names[k::2]:
            for name, b in ((n, z.read(n)), (n[:-3] + 'cls', n.split('/')[-2].encode())):
                i = tarfile.TarInfo(name)
                i.size, i.mtime = len(b), 1234567890.25
                t.addfile(i, io.BytesIO(b))
`
	if out, err := exec.Command(python, "-c", script, zip, dir).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	d, whole := open(t, dir), open(t, zip)
	if d.Len() != 99 {
		t.Fatalf("%d images", d.Len())
	}
	got, want := d.All(), whole.All()
	at := map[string]int{}
	for i, n := range whole.Names {
		at[path.Base(path.Dir(n))+"/"+path.Base(n)] = i
	}
	for i, n := range d.Names {
		k, ok := at[path.Base(path.Dir(n))+"/"+path.Base(n)]
		if !ok {
			t.Fatal(n)
		}
		var a, b imaging.Image
		err1, err2 := d.Image(t.Context(), i, &a, nil), whole.Image(t.Context(), k, &b, nil)
		if err1 != nil || err2 != nil || !bytes.Equal(a.Pix, b.Pix) ||
			got.FineClasses[got.Fine[i]] != want.FineClasses[want.Fine[k]] {
			t.Errorf("%s: %v, %v", n, err1, err2)
		}
	}
}
