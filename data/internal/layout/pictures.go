package layout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"sync"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/budget"
)

// errNoPictures is the error of files without pictures.
var errNoPictures = errors.New("it has no column of images: want a structure with a field bytes, or a " +
	"binary column image, img, jpg, png or webp")

// picturesFormat returns the format of opt whose files may hold pictures, or nil.
func picturesFormat(opt Options) embedding.PictureFormat {
	for _, f := range opt.Formats {
		if p, ok := f.(embedding.PictureFormat); ok {
			return p
		}
	}
	return nil
}

// parquetExtension is the extension of tables of pictures.
const parquetExtension = ".parquet"

// readPictures reads tables whose rows hold image files and labels, as in the data sets of Hugging
// Face: data/train-00000-of-00012.parquet. Sample 17 of a table has the name TABLE/17.
func readPictures(ctx context.Context, s *Set) error {
	t := s.tree.Tree
	format := picturesFormat(s.opt)
	if format == nil {
		return fmt.Errorf("%s: this program does not read pictures in %s files", t.Location(), parquetExtension)
	}
	tables, err := listShards(ctx, s, parquetExtension)
	if err != nil {
		return err
	}
	o := &pictureSet{Set: s, src: &pictureTables{}, roles: s.shardRoles(tables)}
	for i, table := range tables {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", t.Location(), err)
		}
		f, err := tree.OpenRanged(t, table)
		if err != nil {
			return err
		}
		r := &reopeningReader{t, table, f.State}
		size := f.Size
		f.Close()
		p, err := format.OpenPictures(r, size, append(slices.Clone(s.opt.Columns), s.opt.Group))
		if err == nil && p == nil {
			err = errNoPictures
		}
		if err == nil {
			err = o.addTable(i, table, p, r)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.path(table), err)
		}
	}
	return o.finish()
}

// reopeningReader reads a table and opens it again for every part, because there may be more tables than a
// process may have open.
type reopeningReader struct {
	t     tree.Tree
	name  string
	state string
}

func (r *reopeningReader) ReadAt(b []byte, at int64) (int, error) {
	f, err := tree.OpenUnchanged(r.t, r.name, r.state)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.ReadAt(b, at)
}

var _ io.ReaderAt = (*reopeningReader)(nil)

// pictureSet is a set of tables under construction.
type pictureSet struct {
	*Set
	src    *pictureTables
	roles  []Role   // of the tables
	names  []string // names of the columns
	values [][]string
	groups []string
	used   int64
}

// addTable adds the rows of a table.
func (o *pictureSet) addTable(i int, table string, p *embedding.PictureFile, r *reopeningReader) error {
	var names []string
	var text [][]string
	var group []string
	for _, l := range p.Labels {
		if l.Name == o.opt.Group {
			group = l.Text
		}
		if l.Name != o.opt.Group || len(names) == 0 || slices.Contains(o.opt.Columns, l.Name) {
			names, text = append(names, l.Name), append(text, l.Text)
		}
	}
	if o.values == nil {
		o.names, o.values = names, make([][]string, len(names))
	}
	if !slices.Equal(names, o.names) {
		return fmt.Errorf("its columns of labels are %q, but earlier tables have %q", names, o.names)
	}
	if o.used += budget.Product(int64(p.Rows), sampleMemory); o.used > budget.Limit() {
		return &budget.Error{What: "the list of the images in tables", Limit: budget.Limit()}
	}
	at := len(o.src.tables)
	o.src.tables = append(o.src.tables, p)
	o.src.states = append(o.src.states, r.state)
	for row := range p.Rows {
		name := fmt.Sprintf("%s/%d", table, row)
		if k := slices.IndexFunc(text, func(t []string) bool { return t[row] == "" }); k >= 0 {
			o.leave(tree.NoLabelReason(names[k]), name)
			continue
		}
		o.Names = append(o.Names, name)
		o.src.rows = append(o.src.rows, tableRow{at, row})
		for k := range text {
			o.values[k] = append(o.values[k], text[k][row])
		}
		if group != nil {
			o.groups = append(o.groups, group[row])
		}
		if o.roles != nil {
			o.Roles = append(o.Roles, o.roles[i])
		}
	}
	p.Labels = nil
	return nil
}

// finish gives the set its columns and its files.
func (o *pictureSet) finish() error {
	t := o.tree.Tree
	if len(o.Names) == 0 {
		return fmt.Errorf("%s: no image in %d tables%s", t.Location(), len(o.src.tables), tree.Sentence(o.LeftOut))
	}
	for k, name := range o.names {
		o.Columns = append(o.Columns, newValueColumn(name, o.values[k]))
	}
	if len(o.names) > 0 {
		o.Fine, o.Train = o.names[0], o.names[0]
	} else if !o.opt.Unlabelled {
		return fmt.Errorf("%s: no column of labels (label, fine_label, class, category or species): data.label "+
			"names another; kindred embed needs no labels", t.Location())
	}
	if len(o.groups) == len(o.Names) {
		o.Group = &Column{Name: o.opt.Group, Text: o.groups}
	}
	return o.setShards(o.src)
}

// tableRow is the place of a sample.
type tableRow struct{ table, row int }

// pictureTables holds the images in tables. Images are read by pages. Some pages are kept, because
// neighbouring images are usually needed next.
type pictureTables struct {
	tables []*embedding.PictureFile
	states []string
	rows   []tableRow

	mu sync.Mutex
	// many keeps pages of many images, which are costly to load for an image alone. few keeps pages of few
	// images: as many as neighbouring images need, since a page costs little beside the decoding of its large images.
	many, few pageCache
}

// pageCache are the pages that are kept, up to a number of bytes.
type pageCache struct {
	pages map[tablePage]*loadedPage
	order []tablePage // in the order of loading
	bytes int64
}

type tablePage struct{ table, page int }

// loadedPage is a page that is loaded once, even if several goroutines wait for it.
type loadedPage struct {
	once  sync.Once
	bytes int64
	rows  [][]byte
	err   error
}

const (
	// cacheShare is the divisor of the memory limit that gives the memory for pages.
	cacheShare = 8
	// fewImages is the most images of a page that counts as one of few, and maxFewCached the memory for these.
	fewImages    = 4
	maxFewCached = 64 << 20
)

func (p *pictureTables) Read(i int, buf []byte) ([]byte, error) {
	at := p.rows[i]
	file := p.tables[at.table]
	k := sort.Search(len(file.Pages), func(k int) bool { return file.Pages[k].First > at.row }) - 1
	if k < 0 {
		return nil, fmt.Errorf("row %d is in no page", at.row)
	}
	end, keep, limit := file.Rows, &p.many, budget.Limit()/cacheShare
	if k+1 < len(file.Pages) {
		end = file.Pages[k+1].First
	}
	if end-file.Pages[k].First <= fewImages {
		keep, limit = &p.few, min(limit, maxFewCached)
	}
	p.mu.Lock()
	e := keep.page(tablePage{at.table, k}, file.Pages[k].Bytes, limit)
	p.mu.Unlock()
	e.once.Do(func() { e.rows, e.err = file.Load(k) })
	if e.err != nil {
		p.mu.Lock()
		keep.forget(tablePage{at.table, k}, e)
		p.mu.Unlock()
		return nil, e.err
	}
	row := at.row - file.Pages[k].First
	if row >= len(e.rows) || e.rows[row] == nil {
		return nil, errors.New("this row has no image")
	}
	return append(buf[:0], e.rows[row]...), nil
}

// page returns a kept page, or a new entry for it.
func (p *pageCache) page(at tablePage, bytes, limit int64) *loadedPage {
	if e, ok := p.pages[at]; ok {
		return e
	}
	if p.pages == nil {
		p.pages = map[tablePage]*loadedPage{}
	}
	for len(p.order) > 0 && p.bytes+bytes > limit {
		p.bytes -= p.pages[p.order[0]].bytes
		delete(p.pages, p.order[0])
		p.order = p.order[1:]
	}
	e := &loadedPage{bytes: bytes}
	p.pages[at] = e
	p.order = append(p.order, at)
	p.bytes += bytes
	return e
}

// forget drops a page that could not be loaded, so that the next request tries again.
func (p *pageCache) forget(at tablePage, e *loadedPage) {
	if p.pages[at] == e {
		p.bytes -= e.bytes
		delete(p.pages, at)
		p.order = slices.DeleteFunc(p.order, func(o tablePage) bool { return o == at })
	}
}

func (p *pictureTables) Place(i int) string {
	at := p.rows[i]
	if p.states[at.table] == "" {
		return ""
	}
	return fmt.Sprintf("%s, row %d", p.states[at.table], at.row)
}

// Size returns the size of the image, or 0 if it cannot be read.
func (p *pictureTables) Size(i int) int64 {
	b, err := p.Read(i, nil)
	if err != nil {
		return 0
	}
	return int64(len(b))
}
