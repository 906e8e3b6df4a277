package remotedata

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/data"
	"github.com/kindred-ml/kindred/data/imaging"
)

// bucket answers as S3 does, as far as reading goes.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	lie     string // an object whose content is not that of its ETag
	fail    int    // answers that are 503, or are cut short
	deny    bool
	asked   int
	page    int // keys of a listing
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	refuse := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, code)
	}
	key, ok := strings.CutPrefix(r.URL.Path, "/bucket/")
	content := b.objects[key]
	switch {
	case b.deny:
		refuse(403, "AccessDenied")
	case strings.Contains(r.URL.RawQuery, "location"):
		fmt.Fprint(w, `<LocationConstraint>us-east-1</LocationConstraint>`)
	case b.fail > 0 && b.fail%2 == 0:
		b.fail--
		refuse(503, "SlowDown")
	case !ok || !strings.HasPrefix(r.URL.Path, "/bucket/"):
		refuse(404, "NoSuchBucket")
	case key == "":
		b.list(w, r)
	case content == nil:
		refuse(404, "NoSuchKey")
	default:
		sum := md5.Sum(content)
		if key == b.lie {
			content = append(slices.Clone(content[:len(content)-1]), 'x')
		}
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:])+`"`)
		if b.fail > 0 && r.Method == http.MethodGet {
			b.fail--
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			w.Write(content[:len(content)/2])
			return
		}
		http.ServeContent(w, r, "", time.Unix(1, 0), bytes.NewReader(content))
	}
}

func (b *bucket) list(w http.ResponseWriter, r *http.Request) {
	type object struct {
		Key, ETag string
		Size      int
	}
	var out struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string
		Contents              []object
	}
	q := r.URL.Query()
	var keys []string
	for k := range b.objects {
		if strings.HasPrefix(k, q.Get("prefix")) && k > q.Get("continuation-token") {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	if b.page > 0 && len(keys) > b.page {
		keys, out.IsTruncated, out.NextContinuationToken = keys[:b.page], true, keys[b.page-1]
	}
	for _, k := range keys {
		sum := md5.Sum(b.objects[k])
		out.Contents = append(out.Contents, object{k, `"` + hex.EncodeToString(sum[:]) + `"`, len(b.objects[k])})
	}
	xml.NewEncoder(w).Encode(out)
}

// newPictures are those of a set of two classes, by their paths.
func newPictures(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for i := range 8 {
		im := image.NewGray(image.Rect(0, 0, 9, 7))
		for k := range im.Pix {
			im.Pix[k] = uint8(31*i + k*k)
		}
		im.SetGray(0, 0, color.Gray{uint8(i)})
		var b bytes.Buffer
		if err := png.Encode(&b, im); err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprintf("class%d/%d.png", i%2, i)] = b.Bytes()
	}
	return all
}

// openFolder writes the pictures to a folder and opens that.
func openFolder(t *testing.T, all map[string][]byte) *data.Dataset {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	for name, b := range all {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(t.Context(), dir, data.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// checkSame compares samples, labels and pixels.
func checkSame(t *testing.T, got, want *data.Dataset) {
	t.Helper()
	a, b := got.All(), want.All()
	if !slices.Equal(got.Names, want.Names) || !slices.Equal(a.Fine, b.Fine) ||
		!slices.Equal(a.FineClasses, b.FineClasses) {
		t.Fatalf("%v %v %v, want %v %v %v", got.Names, a.Fine, a.FineClasses, want.Names, b.Fine, b.FineClasses)
	}
	for i := range got.Names {
		var x, y imaging.Image
		err := got.Image(t.Context(), i, &x, &imaging.Decoder{})
		err2 := want.Image(t.Context(), i, &y, &imaging.Decoder{})
		if err != nil || err2 != nil || !bytes.Equal(x.Pix, y.Pix) {
			t.Fatalf("%s: %v, %v", got.Names[i], err, err2)
		}
	}
}

// serveS3 starts a bucket, and sets what S3's clients look for.
func serveS3(t *testing.T, b *bucket) {
	t.Helper()
	s := httptest.NewServer(b)
	t.Cleanup(s.Close)
	t.Setenv("AWS_ENDPOINT_URL_S3", s.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "me")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("HOME", t.TempDir())
}

func newZip(t *testing.T, all map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range all {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestS3: a prefix and an archive give what a folder gives, through lists of several
// pages and servers that fail now and then; the cache asks for each object once.
func TestS3(t *testing.T) {
	all := newPictures(t)
	want := openFolder(t, all)
	b := &bucket{objects: map[string][]byte{"other/x.png": nil, "deep/set/": {}, "deep/set.zip": newZip(t, all)},
		page: 3}
	for name, content := range all {
		b.objects["deep/set/"+name] = content
	}
	serveS3(t, b)
	for _, fail := range []int{0, 6} {
		for _, what := range []string{"s3://bucket/deep/set", "s3://bucket/deep/set/", "s3://bucket/deep/set.zip"} {
			b.fail = fail
			d, err := Open(t.Context(), what, data.OpenOptions{})
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			checkSame(t, d, want)
		}
	}
	d, err := Open(t.Context(), "s3://bucket/deep/set", data.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.asked = 0
	cached, err := d.Cache(t.Context(), data.CacheOptions{Dir: t.TempDir()})
	if err != nil || b.asked != len(all) {
		t.Fatalf("%d requests for %d pictures, %v", b.asked, len(all), err)
	}
	checkSame(t, cached, want)
	if err := cached.Close(); err != nil || b.asked != len(all) {
		t.Errorf("%d requests, %v", b.asked, err)
	}
}

func TestS3Errors(t *testing.T) {
	all := newPictures(t)
	b := &bucket{objects: all}
	serveS3(t, b)
	open := func(what string) error {
		d, err := Open(t.Context(), what, data.OpenOptions{})
		if err != nil {
			return err
		}
		var im imaging.Image
		return d.Image(t.Context(), 0, &im, &imaging.Decoder{})
	}
	fails := func(what, want string) {
		t.Helper()
		if err := open(what); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	fails("s3://nowhere/x", "NoSuchBucket")
	fails("s3://bucket/none", "no object below")
	fails("s3://bucket/none.zip", "s3://bucket/none.zip")
	fails("s3://", "is not an address")
	b.lie = "class0/0.png"
	fails("s3://bucket", "MD5")
	b.lie = ""
	d, err := Open(t.Context(), "s3://bucket", data.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.objects["class0/0.png"] = append(slices.Clone(b.objects["class0/0.png"]), 0)
	var im imaging.Image
	err = d.Image(t.Context(), 0, &im, &imaging.Decoder{})
	if err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Error(err)
	}
	b.deny = true
	fails("s3://bucket", "Denied")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	fails("s3://bucket", "AWS_ACCESS_KEY_ID")
	t.Setenv("AWS_ENDPOINT_URL_S3", "nonsense")
	fails("s3://bucket", "AWS_ENDPOINT_URL")
}

// TestWeb: a list, a manifest and an archive on a web server give what a folder gives.
func TestWeb(t *testing.T) {
	all := newPictures(t)
	want := openFolder(t, all)
	list, manifest := "# a list\n", "path,label\n"
	for name := range all {
		list += name + "\n"
		manifest += name + "," + filepath.Dir(name) + "\n"
	}
	served := map[string][]byte{"/d/set.zip": newZip(t, all), "/d/list.txt": []byte(list), "/d/m.csv": []byte(manifest),
		"/d/bad.txt": []byte("../x.png\n"), "/d/empty.txt": nil}
	for name, b := range all {
		served["/d/"+name] = b
	}
	failures := 3
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if failures > 0 {
			failures--
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		content, ok := served[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, md5.Sum(content)))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(s.Close)
	for _, name := range []string{"set.zip", "list.txt"} {
		d, err := Open(t.Context(), s.URL+"/d/"+name, data.OpenOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkSame(t, d, want)
	}
	d, err := Open(t.Context(), s.URL+"/d/m.csv", data.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var im imaging.Image
	if d.Len() != len(all) {
		t.Errorf("%d samples", d.Len())
	}
	for i := range d.Names {
		if err := d.Image(t.Context(), i, &im, &imaging.Decoder{}); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]string{"none.zip": "404", "bad.txt": "bad.txt:1", "empty.txt": "empty list"} {
		if _, err := Open(t.Context(), s.URL+"/d/"+name, data.OpenOptions{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// packShards packs pictures into two tar files, with their classes.
func packShards(t *testing.T, all map[string][]byte) map[string][]byte {
	t.Helper()
	var b [2]bytes.Buffer
	out := map[string][]byte{}
	w := []*tar.Writer{tar.NewWriter(&b[0]), tar.NewWriter(&b[1])}
	names := slices.Sorted(maps.Keys(all))
	for i, name := range names {
		key := strings.TrimSuffix(name, ".png")
		for file, content := range map[string][]byte{name: all[name], key + ".cls": []byte(filepath.Dir(name))} {
			h := &tar.Header{Name: file, Size: int64(len(content)), Mode: 0o644, Typeflag: tar.TypeReg}
			if err := w[2*i/len(names)].WriteHeader(h); err != nil {
				t.Fatal(err)
			}
			if _, err := w[2*i/len(names)].Write(content); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range w {
		if err := w[i].Close(); err != nil {
			t.Fatal(err)
		}
		out[fmt.Sprintf("set-%03d.tar", i)] = b[i].Bytes()
	}
	return out
}

// TestShards: shards elsewhere, by a prefix, a pattern, a list and alone, give the pictures that
// a folder gives; every block of them is asked for once, for all of their images.
func TestShards(t *testing.T) {
	all := newPictures(t)
	want := openFolder(t, all)
	shards := packShards(t, all)
	b := &bucket{objects: map[string][]byte{"s/list.txt": []byte("x")}}
	served := map[string][]byte{"/d/list.txt": []byte("set-{000..001}.tar\n")}
	for name, content := range shards {
		b.objects["s/"+name], served["/d/"+name] = content, content
	}
	serveS3(t, b)
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := served[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.Method == http.MethodGet {
			asked.Add(1)
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, md5.Sum(content)))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(s.Close)
	for what, n := range map[string]int{"s3://bucket/s": 8, "s3://bucket/s/set-{000..001}.tar": 8,
		s.URL + "/d/set-{000..001}.tar": 8, s.URL + "/d/list.txt": 8, s.URL + "/d/set-001.tar": 4} {
		asked.Store(0)
		d, err := Open(t.Context(), what, data.OpenOptions{})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if d.Layout != "webdataset" || d.Len() != n || d.HasLocalFiles() {
			t.Fatalf("%s: %s of %d", what, d.Layout, d.Len())
		}
		got, class := d.All(), want.All()
		for i, name := range d.Names {
			_, key, _ := strings.Cut(name, "/")
			at := slices.Index(want.Names, key)
			var x, y imaging.Image
			err := d.Image(t.Context(), i, &x, &imaging.Decoder{})
			err2 := want.Image(t.Context(), at, &y, &imaging.Decoder{})
			if err != nil || err2 != nil || !bytes.Equal(x.Pix, y.Pix) ||
				got.FineClasses[got.Fine[i]] != class.FineClasses[class.Fine[at]] {
				t.Fatalf("%s: %s: %v, %v", what, name, err, err2)
			}
		}
		if most := int64(3); asked.Load() > most {
			t.Errorf("%s: %d requests for two shards of a block each", what, asked.Load())
		}
		if sums, err := d.All().Digests(t.Context()); err != nil || slices.Contains(sums, data.Digest{}) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, want := range map[string]string{s.URL + "/d/set-{000..002}.tar": "set-002.tar: the server answers 404",
		"s3://bucket/s/set-{001..002}.tar": "s3://bucket/s/set-002.tar", s.URL + "/d/{a}.tar": "neither words",
		"s3://bucket/s/{..,x}/a.tar": "not the path of a file"} {
		if _, err := Open(t.Context(), what, data.OpenOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write(served[r.URL.Path])
	}))
	t.Cleanup(plain.Close)
	if _, err := Open(t.Context(), plain.URL+"/d/set-000.tar", data.OpenOptions{}); err == nil ||
		!strings.Contains(err.Error(), "does not support ranges") {
		t.Errorf("%v", err)
	}
}
