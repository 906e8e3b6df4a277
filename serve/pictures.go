package serve

import (
	"bytes"
	"container/list"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"image/jpeg"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/data/imaging/prepare"
	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/collection/mirror"
	"github.com/kindred-ml/kindred/store"
)

// openPicture opens the picture of an item: a regular file whose content is an image, in one of the
// collection's folders if it has any. The path is from the item, never from the
// request.
func (s *Server) openPicture(ctx context.Context, c *servedCollection, it *store.Item, l *memoryLoan) (f *os.File,
	h *imaging.Header, err error) {
	none := notFound.newProblem("GET /v1/items shows which items have a path.", "the item %q has no picture here",
		it.ID)
	if it.Path == "" {
		return nil, nil, none
	}
	if f = c.openFile(it.Path); f == nil {
		return nil, nil, none
	}
	if h, err = s.readPictureHeader(ctx, f, l); err != nil {
		f.Close()
		if own := (*problem)(nil); errors.As(err, &own) || ctx.Err() != nil {
			return nil, nil, err
		}
		return nil, nil, none
	}
	return f, h, nil
}

// readPictureHeader reads the header of a picture, with memory from the request's loan.
func (s *Server) readPictureHeader(ctx context.Context, f *os.File, l *memoryLoan) (*imaging.Header, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var begin [4 << 10]byte
	n, _ := f.ReadAt(begin[:], 0) // what is missing is found below
	free, err := s.decoders.acquire(ctx, begin[:n])
	if err != nil {
		return nil, err
	}
	defer free()
	need := info.Size() + imaging.StructureBytes(begin[:n], info.Size())
	if err := l.take(need, "the picture's structure"); err != nil {
		return nil, err
	}
	defer l.give(need)
	return imaging.ReadHeader(ctx, f, info.Size())
}

// openFile opens the file at an item's path. It returns nil if the file may not be shown. Links cannot lead
// out of the folders.
func (c *servedCollection) openFile(path string) *os.File {
	if len(c.Folders) == 0 {
		f, err := fileinfo.Open(path)
		if err != nil || !filepath.IsAbs(path) {
			if err == nil {
				f.Close()
			}
			return nil
		}
		return f
	}
	for _, folder := range append([]string{c.Uploads}, c.Folders...) {
		rel, ok := relativeTo(folder, path)
		if folder == "" || !ok {
			continue
		}
		root, err := os.OpenRoot(folder)
		if err != nil {
			continue
		}
		f, err := fileinfo.OpenIn(root, rel)
		root.Close()
		if err == nil {
			return f
		}
	}
	return nil
}

// checkPath returns an error if a request may not give an item its path. The server shows the picture at the
// path of an item, so with free paths whoever may write could read every picture of this
// machine.
func (c *servedCollection) checkPath(ctx context.Context, it *store.Item) error {
	if it.Path == "" || c.mayRestorePath(it) {
		return nil
	}
	for _, folder := range c.Folders {
		if _, ok := relativeTo(folder, filepath.Clean(it.Path)); ok {
			return nil
		}
	}
	if old, err := c.Store.Get(ctx, it.ID); err == nil && old.Path == it.Path {
		return nil // the path is unchanged
	}
	return forbidden.newProblem(
		"Leave the path out, send the picture, or start the server with the folder of pictures.",
		"the item %q cannot be given this path over HTTP", it.ID)
}

// setPictureHeader sets the header of all answers with pictures.
func setPictureHeader(h http.Header, tag string) {
	h.Set("Cache-Control", "private, max-age=3600")
	h.Set("Etag", tag)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
}

// servePicture answers GET /v1/items/{id}/picture with the unchanged file.
func (s *Server) servePicture(w http.ResponseWriter, r *http.Request) error {
	p, err := s.openItemPicture(r)
	if err != nil {
		return err
	}
	defer p.file.Close()
	h := w.Header()
	setPictureHeader(h, p.tag)
	h.Set("Content-Type", p.header.MediaType())
	for _, name := range []string{"Range", "If-Range", "If-Match", "If-Unmodified-Since"} {
		r.Header.Del(name) // pictures are always sent whole
	}
	http.ServeContent(w, r, "", time.Time{}, p.file) // only the tag shows whether it changed
	return nil
}

// itemPicture is the open picture of an item.
type itemPicture struct {
	file   *os.File
	header *imaging.Header
	tag    string          // changes when the file or the item's part of it changes
	box    image.Rectangle // the item's part of the picture; empty for all of it
}

// openItemPicture opens the picture of the item that a request names.
func (s *Server) openItemPicture(r *http.Request) (*itemPicture, error) {
	c, err := s.collectionOf(r)
	if err != nil {
		return nil, err
	}
	it, err := c.Store.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	f, h, err := s.openPicture(r.Context(), c, &it, bodyOf(r).loan)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	region := mirror.Region(it.Columns)
	box, _ := embedding.ParseRegion(region)
	sum := fnv.New128a()
	fmt.Fprint(sum, c.Name, "\x00", it.ID, "\x00", it.Path, "\x00", region, "\x00", fileinfo.State(info))
	return &itemPicture{f, h, `"` + hex.EncodeToString(sum.Sum(nil)) + `"`, box}, nil
}

// Sides of thumbnails in pixels.
const (
	minThumbnail     = 16
	defaultThumbnail = 192
	maxThumbnail     = 1024
)

// serveThumbnail answers GET /v1/items/{id}/thumbnail with a JPEG whose longer side has
// size pixels, or as many as the picture has.
func (s *Server) serveThumbnail(w http.ResponseWriter, r *http.Request) error {
	size := defaultThumbnail
	if text := r.URL.Query().Get("size"); text != "" {
		var err error
		if size, err = strconv.Atoi(text); err != nil || size < minThumbnail || size > maxThumbnail {
			return badRequest.newProblem("GET /openapi.json describes the parameters.",
				"size must be a whole number from %d to %d",
				minThumbnail, maxThumbnail)
		}
	}
	p, err := s.openItemPicture(r)
	if err != nil {
		return err
	}
	defer p.file.Close()
	tag := strings.TrimSuffix(p.tag, `"`) + "-" + strconv.Itoa(size) + `"`
	if r.Header.Get("If-None-Match") == tag {
		setPictureHeader(w.Header(), tag)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	small := s.thumbnails.get(tag)
	if small == nil {
		file, err := s.makeThumbnail(r.Context(), p, size, bodyOf(r).loan)
		if err != nil {
			return err
		}
		small = &cachedPicture{tag, file, "image/jpeg"}
		s.thumbnails.put(small)
	}
	return small.send(w, tag)
}

// send answers with a picture.
func (p *cachedPicture) send(w http.ResponseWriter, tag string) error {
	h := w.Header()
	setPictureHeader(h, tag)
	h.Set("Content-Type", p.kind)
	h.Set("Content-Length", strconv.Itoa(len(p.file)))
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(p.file)
	return ignoreDisconnect(err)
}

// makeThumbnail reads a picture and makes the thumbnail of it, or of the item's part of it.
func (s *Server) makeThumbnail(ctx context.Context, p *itemPicture, size int, l *memoryLoan) ([]byte, error) {
	h, by := p.header, thumbnailShrinker{size, p.box}
	info, err := p.file.Stat()
	if err != nil {
		return nil, err
	}
	const way = "GET its picture instead."
	if h.W > s.limits.Pixels/h.H {
		return nil, invalid.newProblem(way, "the picture has %d x %d pixels, but only %d are allowed", h.W, h.H,
			s.limits.Pixels)
	}
	need := decodingBytes(h, by)
	if err := l.take(info.Size()+need, "the picture"); err != nil {
		return nil, err
	}
	file, err := budget.ReadN("the picture", p.file, info.Size())
	if err != nil {
		return nil, err
	}
	dec := imaging.Decoder{MaxPixels: s.limits.Pixels, MaxBytes: need, Shrink: by.Shrink}
	var im imaging.Image
	free, err := s.decoders.acquire(ctx, file)
	if err != nil {
		return nil, err
	}
	defer free()
	if err := dec.Decode(ctx, &im, file); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, badPicture.newProblem(way, "%s", escape.ClipTo(err.Error(), 300))
	}
	part := boxInDecoded(&im, h, p.box)
	wide, high := part.X1-part.X0, part.Y1-part.Y0
	var small imaging.Image
	var resize prepare.Resizer
	scale := min(1, float64(size)/max(wide, high))
	resize.Resize(&small, &im, part, max(1, int(wide*scale+0.5)), max(1, int(high*scale+0.5)))
	var out bytes.Buffer
	err = jpeg.Encode(&out, toEncodable(&small), &jpeg.Options{Quality: 82})
	return out.Bytes(), err
}

// boxInDecoded returns the place of a box in a picture that was decoded smaller than its header says, and
// perhaps turned. The box is in pixels of the upright file. A box that is empty or outside means the whole picture.
func boxInDecoded(im *imaging.Image, h *imaging.Header, box image.Rectangle) prepare.Box {
	whole := prepare.Box{X1: float64(im.W), Y1: float64(im.H)}
	by := float64(max(im.W, im.H)) / float64(max(h.W, h.H))
	part := prepare.Box{X0: by * float64(box.Min.X), Y0: by * float64(box.Min.Y),
		X1: min(whole.X1, by*float64(box.Max.X)), Y1: min(whole.Y1, by*float64(box.Max.Y))}
	if box.Empty() || part.X1 <= part.X0 || part.Y1 <= part.Y0 {
		return whole
	}
	return part
}

// thumbnailShrinker decodes pictures to at least twice the longer side of a thumbnail of the whole picture or of a box.
type thumbnailShrinker struct {
	size int
	box  image.Rectangle
}

// Shrink makes it a Shrinker.
func (t thumbnailShrinker) Shrink(w, h int) int {
	if !t.box.Empty() {
		w, h = t.box.Dx(), t.box.Dy()
	}
	by := 1
	for by < 8 && max(w, h) >= 4*by*t.size {
		by *= 2
	}
	return by
}

// toEncodable converts an image to a type that the JPEG encoder handles fast.
func toEncodable(im *imaging.Image) image.Image {
	if im.C == 1 {
		return &image.Gray{Pix: im.Pix, Stride: im.W, Rect: im.Bounds()}
	}
	out := image.NewRGBA(im.Bounds())
	for i := range im.W * im.H {
		p := im.Pix[3*i:]
		out.SetRGBA(i%im.W, i/im.W, color.RGBA{p[0], p[1], p[2], 255})
	}
	return out
}

// thumbnailBytes bounds the thumbnails that are kept.
const thumbnailBytes = 64 << 20

// pictureCache keeps the pictures that were used last.
type pictureCache struct {
	maxBytes int // most bytes

	mu    sync.Mutex
	bytes int
	order *list.List // of *cachedPicture, the last used first
	byTag map[string]*list.Element
}

type cachedPicture struct {
	tag  string
	file []byte
	kind string // media type
}

func newPictureCache(most int) *pictureCache {
	return &pictureCache{maxBytes: most, order: list.New(), byTag: map[string]*list.Element{}}
}

// get returns a picture, or nil if it is not kept.
func (t *pictureCache) get(tag string) *cachedPicture {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byTag[tag]
	if e == nil {
		return nil
	}
	t.order.MoveToFront(e)
	return e.Value.(*cachedPicture)
}

func (t *pictureCache) put(p *cachedPicture) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.byTag[p.tag]; e != nil {
		t.order.MoveToFront(e)
		return
	}
	t.byTag[p.tag] = t.order.PushFront(p)
	for t.bytes += len(p.file); t.bytes > t.maxBytes; {
		e := t.order.Back()
		old := t.order.Remove(e).(*cachedPicture)
		delete(t.byTag, old.tag)
		t.bytes -= len(old.file)
	}
}
