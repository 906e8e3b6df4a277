package tfevents

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// crc is CRC-32C bit by bit, from its polynomial 0x1EDC6F41 reversed; the writer takes
// the library's.
func crc(data []byte) uint32 {
	c := ^uint32(0)
	for _, b := range data {
		c ^= uint32(b)
		for range 8 {
			if c&1 == 1 {
				c = c>>1 ^ 0x82F63B78
			} else {
				c >>= 1
			}
		}
	}
	return ^c
}

// unmask undoes the masking by its definition.
func unmask(m uint32) uint32 {
	r := m - 0xa282ead8
	return r>>17 | r<<15
}

// fields reads a message with nothing but the wire format's definition.
func fields(m []byte) (map[int][]any, error) {
	out := map[int][]any{}
	for len(m) > 0 {
		key, n := binary.Uvarint(m)
		if n <= 0 {
			return nil, errors.New("a key that ends early")
		}
		m = m[n:]
		var v any
		switch key & 7 {
		case 0:
			x, n := binary.Uvarint(m)
			v, m = x, m[n:]
		case 1:
			v, m = math.Float64frombits(binary.LittleEndian.Uint64(m)), m[8:]
		case 2:
			size, n := binary.Uvarint(m)
			v, m = m[n:n+int(size)], m[n+int(size):]
		case 5:
			v, m = math.Float32frombits(binary.LittleEndian.Uint32(m)), m[4:]
		default:
			return nil, fmt.Errorf("wire type %d", key&7)
		}
		out[int(key>>3)] = append(out[int(key>>3)], v)
	}
	return out, nil
}

// read is the events of a file, a line for each scalar.
func read(t *testing.T, file []byte) string {
	t.Helper()
	var b strings.Builder
	for len(file) > 0 {
		n := binary.LittleEndian.Uint64(file)
		if unmask(binary.LittleEndian.Uint32(file[8:])) != crc(file[:8]) {
			t.Fatal("the length's checksum is wrong")
		}
		m := file[12 : 12+n]
		if unmask(binary.LittleEndian.Uint32(file[12+n:])) != crc(m) {
			t.Fatal("the message's checksum is wrong")
		}
		file = file[16+n:]
		e, err := fields(m)
		if err != nil {
			t.Fatal(err)
		}
		if v := e[3]; v != nil {
			fmt.Fprintf(&b, "%.3f version %s\n", e[1][0], v[0])
			continue
		}
		summary, err := fields(e[5][0].([]byte))
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range summary[1] {
			v, err := fields(value.([]byte))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%.3f step %d: %s = %v\n", e[1][0], e[2][0], v[1][0], v[2][0])
		}
	}
	return b.String()
}

func TestFile(t *testing.T) {
	at := time.UnixMicro(1_700_000_000_250_000)
	f := AppendHeader(nil, at)
	f = AppendScalars(f, at.Add(time.Second), 1, []Scalar{{"train/loss", 0.25}, {"test/recall@1", 0.5}})
	f = AppendScalars(f, at, 2, nil)
	f = AppendScalars(f, at.Add(2*time.Second), 300, []Scalar{{"é", math.Inf(1)}})
	const want = `1700000000.250 version brain.Event:2
1700000001.250 step 1: train/loss = 0.25
1700000001.250 step 1: test/recall@1 = 0.5
1700000002.250 step 300: é = +Inf
`
	if got := read(t, f); got != want {
		t.Errorf("read back:\n%swant:\n%s", got, want)
	}
}

// TestBytes fixes the header of a file, as TensorBoard 2 writes it: its record is of 24
// bytes; and the masking, by RFC 3720's checksum of 32 zeros, 8a9136aa.
func TestBytes(t *testing.T) {
	f := AppendHeader(nil, time.Unix(0, 0))
	if !bytes.HasPrefix(f, []byte{24, 0, 0, 0, 0, 0, 0, 0, 0xa3, 0x7f, 0x4b, 0x22}) || len(f) != 40 {
		t.Error(hex.EncodeToString(f))
	}
	if got := crc(make([]byte, 32)); got != 0x8a9136aa {
		t.Errorf("checksum of zeros: %x", got)
	}
	if got := unmask(maskedCRC(make([]byte, 32))); got != 0x8a9136aa {
		t.Errorf("masked and unmasked: %x", got)
	}
}
