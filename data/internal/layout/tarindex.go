package layout

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/classname"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/internal/format/tarfile"
)

// tarIndex is the index of a shard.
type tarIndex struct {
	Samples []tarSample
	LeftOut []tree.LeftOut
	// Marked says that the shard ends with tar's end mark.
	Marked bool
}

// tarSample is an image in a shard.
type tarSample struct {
	Member       string
	Offset, Size int64
	// Values are the values of the requested fields.
	Values []tarValue
}

// tarValue is a value of a field of a sample.
type tarValue struct {
	Text string
	Has  bool
}

// Fields of samples that may be their label. The first that occurs counts: the member KEY.cls, keys of
// KEY.json, and last the text of KEY.txt.
const (
	clsField = "cls"
	txtField = "txt"
)

func labelFields() []string { return []string{clsField, "label", "class", "category"} }

// maxDescription bounds a member that describes a sample.
const maxDescription = 1 << 20

// sampleMemory is the memory of a sample besides its texts: in the index, in the list of samples and in
// the map of their names.
const sampleMemory = 200

// tarReader indexes shards. It is safe for concurrent use.
type tarReader struct {
	fields []string
	used   atomic.Int64 // memory of all indexes, in bytes
	limit  int64
}

// index reads through the shard r once. As in WebDataset, consecutive members with the same name up to
// the first dot of the last element are one sample.
func (x *tarReader) index(ctx context.Context, where string, r io.ReaderAt, size int64) (*tarIndex, error) {
	s := &shardScan{x: x, r: r, out: new(tarIndex)}
	marked, err := tarfile.Walk(ctx, r, size, s.member)
	if err != nil {
		return nil, tree.WithName(where, err)
	}
	s.finish()
	s.out.Marked = marked
	return s.out, nil
}

// countMemory counts memory.
func (x *tarReader) countMemory(n int) error {
	if used := x.used.Add(int64(n) + sampleMemory); used > x.limit {
		return &budget.Error{What: "the list of the images in shards", Limit: x.limit}
	}
	return nil
}

// shardScan is the state of indexing a shard.
type shardScan struct {
	x          *tarReader
	r          io.ReaderAt
	out        *tarIndex
	key        string
	now        tarSample // the sample of key
	hasMembers bool      // members of the sample were found
}

// sampleKey cuts the name of a member at the first dot of its last element.
func sampleKey(name string) (key, ext string) {
	dir, file := path.Split(name)
	file, ext, _ = strings.Cut(file, ".")
	return dir + file, strings.ToLower(ext)
}

func (s *shardScan) member(m tarfile.Member) error {
	name := path.Clean(m.Name)
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`) {
		return fmt.Errorf("the member %q leads outside the archive", m.Name)
	}
	if tree.IsInSystemFolder(name) && tree.IsImageName(name) {
		s.out.LeftOut = tree.Count(s.out.LeftOut, tree.InSystemFolder, 1, name)
	}
	if tree.IsInSystemFolder(name) || tree.IsHidden(name) {
		return nil
	}
	key, ext := sampleKey(name)
	if key != s.key || !s.hasMembers {
		s.finish()
		s.key, s.hasMembers = key, true
		s.now = tarSample{Values: make([]tarValue, len(s.x.fields))}
	}
	switch {
	case ext == clsField || ext == txtField || ext == "json":
		return s.describe(name, ext, m)
	case !tree.IsImageName("x." + ext):
		s.out.LeftOut = tree.Count(s.out.LeftOut, tree.NotImageReason("x."+ext), 1, name)
	case s.now.Member != "":
		s.out.LeftOut = tree.Count(s.out.LeftOut, "a second image of one sample", 1, name)
	case tree.UnwritableReason(name) != "":
		s.out.LeftOut = tree.Count(s.out.LeftOut, tree.UnwritableNameReason(name), 1, name)
	default:
		s.now.Member, s.now.Offset, s.now.Size = name, m.Offset, m.Size
		return s.x.countMemory(len(name))
	}
	return nil
}

// finish ends the current sample.
func (s *shardScan) finish() {
	switch {
	case s.hasMembers && s.now.Member != "":
		s.out.Samples = append(s.out.Samples, s.now)
	case s.hasMembers && slices.ContainsFunc(s.now.Values, func(v tarValue) bool { return v.Has }):
		s.out.LeftOut = tree.Count(s.out.LeftOut, "a description without an image", 1, s.key)
	}
	s.hasMembers = false
}

// describe reads a member that describes a sample.
func (s *shardScan) describe(name, ext string, m tarfile.Member) error {
	if m.Size > maxDescription {
		return fmt.Errorf("%s: the description has %s: at most %s are allowed", name, budget.Format(m.Size),
			budget.Format(maxDescription))
	}
	text := make([]byte, m.Size)
	if _, err := s.r.ReadAt(text, m.Offset); err != nil && !(err == io.EOF && m.Size == 0) {
		return tree.WithName(name, err)
	}
	if ext != "json" {
		value := strings.Join(strings.Fields(string(text)), " ")
		return s.set(ext, value, value != "")
	}
	var all map[string]json.RawMessage
	if err := strictjson.UnmarshalLoose(text, &all); err != nil {
		return fmt.Errorf("%s: not a JSON object: %w", name, err)
	}
	for _, field := range s.x.fields {
		if value, ok := jsonScalar(all, field); ok && field != txtField {
			if err := s.set(field, value, true); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *shardScan) set(field, value string, has bool) error {
	i := slices.Index(s.x.fields, field)
	if i < 0 || !has || s.now.Values[i].Has {
		return nil
	}
	s.now.Values[i] = tarValue{strings.Clone(value), true}
	return s.x.countMemory(len(value))
}

// jsonScalar returns the text, number or boolean at a key of a JSON object. Keys of nested objects are
// joined by dots.
func jsonScalar(all map[string]json.RawMessage, field string) (string, bool) {
	raw, ok := all[field]
	if outer, inner, nested := strings.Cut(field, "."); !ok && nested {
		var in map[string]json.RawMessage
		if strictjson.UnmarshalLoose(all[outer], &in) != nil {
			return "", false
		}
		return jsonScalar(in, inner)
	}
	if !ok {
		return "", false
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return "", false
	}
	switch v := v.(type) {
	case string:
		v = classname.Clean(strings.TrimSpace(v)) // line ends of a text member do not count
		return v, v != ""
	case json.Number:
		return v.String(), true
	case bool:
		return fmt.Sprint(v), true
	}
	return "", false
}

// tarPlace is the place of an image.
type tarPlace struct {
	shard        int
	offset, size int64
}

// tarShards reads the images in tar files.
type tarShards struct {
	base   tree.Tree
	names  []string // names of the shards
	states []string
	places []tarPlace
}

func (t *tarShards) Read(i int, buf []byte) ([]byte, error) {
	p := t.places[i]
	f, err := tree.OpenUnchanged(t.base, t.names[p.shard], t.states[p.shard])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if int64(cap(buf)) < p.size { // Walk has checked that the size is within the shard
		if err := budget.Check("the image", p.size); err != nil {
			return nil, err
		}
		buf = make([]byte, p.size)
	}
	buf = buf[:p.size]
	if n, err := f.ReadAt(buf, p.offset); n < len(buf) {
		return nil, err
	}
	return buf, nil
}

func (t *tarShards) Place(i int) string {
	p := t.places[i]
	if t.states[p.shard] == "" {
		return ""
	}
	return fmt.Sprintf("%s from %d, %d bytes", t.states[p.shard], p.offset, p.size)
}

func (t *tarShards) Size(i int) int64 { return t.places[i].size }
