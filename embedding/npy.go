package embedding

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/base/float16"
	"github.com/kindred-ml/kindred/internal/format/columns"
)

// Array is the content of a .npy file in C order. The file's dtype decides which of Floats, Ints and Text is
// set.
type Array struct {
	Shape  []int
	DType  string // as in the file, for messages: "<f4"
	Floats []float32
	Ints   []int64
	Text   []string
}

const npyMagic = "\x93NUMPY"

// maxNPYHeader is the largest size of the header. Headers of NumPy are smaller than 64 KiB.
const maxNPYHeader = 1 << 20

// maxAxes is the largest number of axes of an array, as in NumPy.
const maxAxes = 64

// ReadNPYFile reads a .npy file with one array, as ReadNPY does.
func ReadNPYFile(path string) (*Array, error) {
	f, size, err := fileinfo.OpenSized(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := ReadNPY(f, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// ReadNPY reads an array from r, which must end after it, in C or Fortran order and in either byte order. It
// reads float16, float32 and float64 into Floats, integers of up to 64 bits and booleans into Ints, and
// strings of fixed length (U and S) into Text. Values of float64 are rounded to float32. size is the number
// of bytes in r, or -1 if unknown. An array that needs more memory than the limit is an error before the
// memory is allocated.
func ReadNPY(r io.Reader, size int64) (*Array, error) {
	br := bufio.NewReaderSize(r, 1<<20)
	h, err := readNPYHeader(br)
	if err != nil {
		return nil, err
	}
	count, err := h.count()
	if err != nil {
		return nil, err
	}
	if size >= 0 {
		have, want := size-h.length, budget.Product(int64(count), int64(h.item))
		if have != want {
			return nil, sizeError(h, have/int64(h.item), have < want)
		}
	}
	if err := budget.Check(fmt.Sprintf("%s of shape %v", h.descr, h.shape), h.memory(count)); err != nil {
		return nil, err
	}
	a := &Array{Shape: h.shape, DType: h.descr}
	if h.isText() {
		err = a.decodeText(br, h, count)
	} else {
		err = a.decode(br, h, count, size >= 0)
	}
	if err != nil {
		return nil, err
	}
	if h.fortran {
		a.Floats = toCOrder(a.Floats, h.shape)
		a.Ints = toCOrder(a.Ints, h.shape)
		a.Text = toCOrder(a.Text, h.shape)
	}
	return a, nil
}

func sizeError(h *npyHeader, have int64, short bool) error {
	if short {
		return fmt.Errorf("truncated: shape %v of %s announced, only %d values found", h.shape, h.descr, have)
	}
	return fmt.Errorf("more data than the shape %v of %s announces", h.shape, h.descr)
}

// npyHeader is the dictionary at the start of a file.
type npyHeader struct {
	descr   string
	fortran bool
	shape   []int
	order   binary.ByteOrder
	kind    byte // f, i, u or b; U or S for text
	item    int  // number of bytes of a value
	length  int64
}

func readNPYHeader(r io.Reader) (*npyHeader, error) {
	var pre [8]byte
	if _, err := io.ReadFull(r, pre[:]); err != nil || string(pre[:6]) != npyMagic {
		return nil, errors.New("not a .npy file: it does not begin with \\x93NUMPY")
	}
	var n, lengthBytes int
	switch pre[6] {
	case 1:
		lengthBytes = 2
	case 2, 3:
		lengthBytes = 4
	default:
		return nil, fmt.Errorf("version %d of the .npy format is not known", pre[6])
	}
	var lb [4]byte
	if _, err := io.ReadFull(r, lb[:lengthBytes]); err != nil {
		return nil, errors.New("truncated in the .npy header")
	}
	n = int(binary.LittleEndian.Uint32(lb[:]))
	if n > maxNPYHeader {
		return nil, fmt.Errorf("a .npy header of %d bytes", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, errors.New("truncated in the .npy header")
	}
	h := &npyHeader{length: int64(8 + lengthBytes + n)}
	if err := h.parse(string(text)); err != nil {
		return nil, err
	}
	return h, nil
}

// parse reads the header's Python dictionary. It searches for the three keys instead of parsing Python, which
// is safe because their values cannot contain one another.
func (h *npyHeader) parse(text string) error {
	descr, ok := dictValue(text, "descr")
	if !ok {
		return errors.New("the .npy header has no 'descr'")
	}
	if err := h.parseDType(descr); err != nil {
		return err
	}
	switch v, _ := dictValue(text, "fortran_order"); {
	case strings.HasPrefix(v, "True"):
		h.fortran = true
	case !strings.HasPrefix(v, "False"):
		return errors.New("the .npy header has no valid 'fortran_order'")
	}
	v, _ := dictValue(text, "shape")
	inner, ok := strings.CutPrefix(v, "(")
	inner, _, closed := strings.Cut(inner, ")")
	if !ok || !closed {
		return errors.New("the .npy header has no valid 'shape'")
	}
	for part := range strings.SplitSeq(inner, ",") {
		part = strings.TrimSuffix(strings.TrimSpace(part), "L") // Python 2 wrote 3L
		if part == "" {
			continue
		}
		d, err := strconv.Atoi(part)
		if err != nil || d < 0 {
			return fmt.Errorf("the .npy header has the dimension %q", part)
		}
		if len(h.shape) == maxAxes {
			return fmt.Errorf("the .npy header has more than %d dimensions", maxAxes)
		}
		h.shape = append(h.shape, d)
	}
	return nil
}

// dictValue returns the text after a key, up to the end of the dictionary.
func dictValue(text, key string) (string, bool) {
	for _, quote := range []string{"'", `"`} {
		if _, rest, ok := strings.Cut(text, quote+key+quote); ok {
			rest, ok = strings.CutPrefix(strings.TrimSpace(rest), ":")
			return strings.TrimSpace(rest), ok
		}
	}
	return "", false
}

func (h *npyHeader) parseDType(v string) error {
	bad := func(what string) error {
		return fmt.Errorf("dtype %s: want float16, float32, float64, an integer or strings of fixed length", what)
	}
	if v == "" || v[0] != '\'' && v[0] != '"' {
		return bad("of a structured array")
	}
	s, _, ok := strings.Cut(v[1:], v[:1])
	if !ok || len(s) < 3 {
		return bad(strconv.Quote(s))
	}
	h.descr = s
	switch s[0] {
	case '<', '|', '=':
		h.order = binary.LittleEndian
	case '>':
		h.order = binary.BigEndian
	default:
		return bad(strconv.Quote(s))
	}
	h.kind = s[1]
	switch s[1:] {
	case "f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1":
		h.item = int(s[2] - '0')
		return nil
	}
	n, err := strconv.Atoi(s[2:])
	if !h.isText() || err != nil || n < 1 || n > maxText {
		return bad(strconv.Quote(s))
	}
	h.item = n
	if h.kind == 'U' {
		h.item = 4 * n
	}
	return nil
}

// isText reports whether the values are strings.
func (h *npyHeader) isText() bool { return h.kind == 'U' || h.kind == 'S' }

// count returns the number of values, or an error if it overflows.
func (h *npyHeader) count() (int, error) {
	n := 1
	for _, d := range h.shape {
		if d != 0 && n > math.MaxInt/16/d {
			return 0, fmt.Errorf("shape %v is too large", h.shape)
		}
		n *= d
	}
	return n, nil
}

// memory returns the memory of count values as float32 or int64, or as empty strings. It is doubled if they
// must be reordered from Fortran's order to C's.
func (h *npyHeader) memory(count int) int64 {
	size, copies := int64(8), int64(1)
	switch {
	case h.kind == 'f':
		size = 4
	case h.isText():
		size = columns.LabelSize(0)
	}
	if h.fortran && len(h.shape) > 1 {
		copies = 2
	}
	return budget.Product(int64(count), size, copies)
}

// decode reads count values. Unless known says that they are all present, memory grows with what is read
// instead of what was announced.
func (a *Array) decode(r io.Reader, h *npyHeader, count int, known bool) error {
	capacity := count
	if !known {
		capacity = min(count, 1<<16)
	}
	if h.kind == 'f' {
		a.Floats = make([]float32, 0, capacity)
	} else {
		a.Ints = make([]int64, 0, capacity)
	}
	buf := make([]byte, 8192*h.item)
	for done := 0; done < count; {
		n := min(count-done, 8192)
		b := buf[:n*h.item]
		switch got, err := io.ReadFull(r, b); {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return sizeError(h, int64(done+got/h.item), true)
		case err != nil:
			return err
		}
		if a.Floats != nil {
			a.Floats = growFor(a.Floats, n, count)
		} else {
			a.Ints = growFor(a.Ints, n, count)
		}
		if err := a.append(b, h); err != nil {
			return err
		}
		done += n
	}
	return checkEnd(r, h)
}

// checkEnd returns an error unless r is at its end. It passes on errors there, because readers of archives compare
// checksums at the end.
func checkEnd(r io.Reader, h *npyHeader) error {
	var b [1]byte
	switch n, err := io.ReadFull(r, b[:]); {
	case n != 0:
		return sizeError(h, 0, false)
	case err != io.EOF:
		return err
	}
	return nil
}

// growFor makes room in s for n more of count announced values. It grows s fourfold, so that the rest is believed
// once a quarter is there, and the copied memory adds up to a third of s.
func growFor[T any](s []T, n, count int) []T {
	if cap(s)-len(s) >= n {
		return s
	}
	larger := make([]T, len(s), max(min(count, 4*cap(s)), len(s)+n))
	copy(larger, s)
	return larger
}

// append converts complete values and appends them.
func (a *Array) append(b []byte, h *npyHeader) error {
	for ; len(b) >= h.item; b = b[h.item:] {
		var bits uint64
		switch h.item {
		case 1:
			bits = uint64(b[0])
		case 2:
			bits = uint64(h.order.Uint16(b))
		case 4:
			bits = uint64(h.order.Uint32(b))
		case 8:
			bits = h.order.Uint64(b)
		}
		switch {
		case h.kind == 'f' && h.item == 2:
			a.Floats = append(a.Floats, float16.Float32(uint16(bits)))
		case h.kind == 'f' && h.item == 4:
			a.Floats = append(a.Floats, math.Float32frombits(uint32(bits)))
		case h.kind == 'f':
			a.Floats = append(a.Floats, float32(math.Float64frombits(bits)))
		case h.kind == 'i':
			shift := 64 - 8*h.item
			a.Ints = append(a.Ints, int64(bits<<shift)>>shift)
		default:
			if bits > math.MaxInt64 {
				return fmt.Errorf("value %d at position %d does not fit in int64", bits, len(a.Ints))
			}
			a.Ints = append(a.Ints, int64(bits))
		}
	}
	return nil
}

// toCOrder reorders column-major values.
func toCOrder[T any](v []T, shape []int) []T {
	if len(v) == 0 || len(shape) < 2 {
		return v
	}
	strides := make([]int, len(shape)) // strides in the file, where the first index is fastest
	step := 1
	for i, d := range shape {
		strides[i] = step
		step *= d
	}
	out := make([]T, len(v))
	index := make([]int, len(shape))
	at := 0
	for i := range out {
		out[i] = v[at]
		for d := len(shape) - 1; d >= 0; d-- {
			index[d]++
			at += strides[d]
			if index[d] < shape[d] {
				break
			}
			at -= strides[d] * shape[d]
			index[d] = 0
		}
	}
	return out
}
