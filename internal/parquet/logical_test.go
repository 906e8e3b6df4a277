package parquet

import (
	"bytes"
	"math"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/kindred-ml/kindred/embedding"
)

// fixture reads a file of testdata with every column.
func fixture(t *testing.T, name string, f Format) *embedding.Table {
	t.Helper()
	table, err := embedding.Formats{f}.Read(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestLogicalTypes: every type that DuckDB writes has its right values, as the database prints
// them, or is named among those that are not read.
func TestLogicalTypes(t *testing.T) {
	table := fixture(t, "duckdb.parquet", Format{Fractions: true})
	want := map[string]string{
		"dec4": "-0.01 0.99 1.99", "dec9": "0.500 1000.500 2000.500",
		"dec18": "0.00 -12345678901.25 -24691357802.50",
		"dec38": "0.000 12345678901234567890123456789.000 24691357802469135780246913578.000",
		"whole": "0 7 14", "u8": "250 251 252", "u16": "65530 65531 65532",
		"u32": "4294967290 4294967291 4294967292",
		"u64": "18446744073709551610 18446744073709551611 18446744073709551612", "i8": "0 -1 -2",
		"day": "2024-02-28 2024-02-29 2024-03-01", "old": "1969-12-31 1969-12-30 1969-12-29",
		"t":   "10:00:00.500 10:00:01.500 10:00:02.500",
		"us":  "2024-01-01T10:00:00 2024-01-02T10:00:00 2024-01-03T10:00:00",
		"ms":  "2024-01-01T10:00:00.250 2024-01-02T10:00:00.250 2024-01-03T10:00:00.250",
		"ns":  "2024-01-01T10:00:00.000000001 2024-01-01T10:00:00.000000001 2024-01-01T10:00:00.000000001",
		"utc": "2024-01-01T10:00:00.000000Z 2024-01-01T10:00:00.000100Z 2024-01-01T10:00:00.000200Z",
		"u": "00000000-0000-4000-8000-000000000000 00000000-0000-4000-8000-000000000001 " +
			"00000000-0000-4000-8000-000000000002",
		"span": "P2DT1.5S P1M2DT1.5S P2M2DT1.5S", "huge": "0 1 2", "j": `{"a":0} {"a":1} {"a":2}`, "e": "k0 k1 k2",
		"b": "false true false", "f": "0 0.1 0.2", "d": "0 0.1 0.2", "note": "x0  x2", "text": "ab ab ab",
		"s.name": "n0 n1 n2", "s.idx": "0 1 2",
	}
	for i := range table.Columns {
		c := &table.Columns[i]
		var values []string
		for k := range c.Len() {
			values = append(values, c.At(k))
		}
		if got := strings.Join(values, " "); got != want[c.Name] {
			t.Errorf("%s is %q, want %q", c.Name, got, want[c.Name])
		}
		delete(want, c.Name)
	}
	for name := range want {
		t.Errorf("%s is missing", name)
	}
	unread := []embedding.SkippedColumn{{Name: "tags", Why: "a list of INT(64,true)"},
		{Name: "m", Why: "a list of INT(64,true)"},
		{Name: "blob", Why: "of bytes that are not UTF-8 text"}}
	if !slices.Equal(table.Skipped, unread) {
		t.Errorf("not read: %v", table.Skipped)
	}
	if got := table.X.Row(1); table.X.Rows != 3 || !slices.Equal(got, []float32{1, 0.5}) {
		t.Errorf("embedding of row 1: %v", got)
	}
	if _, err := table.Select("blob"); err == nil || !strings.Contains(err.Error(),
		"the column blob is of bytes that are not UTF-8 text") {
		t.Errorf("blob as a label: %v", err)
	}
}

// TestHalf: lists, lists of fixed length and columns of FLOAT16 are what they are in .npy.
func TestHalf(t *testing.T) {
	want := []float32{1, -2.5, 65504, 0x1p-14, 0x1p-24, 0}
	for _, name := range []string{"half_list.parquet", "half_fixed.parquet", "half_columns.parquet"} {
		table := fixture(t, name, Format{})
		if !slices.Equal(table.X.Data, want) {
			t.Errorf("%s: %v", name, table.X.Data)
		}
		if got := table.Column("label"); got == nil || !slices.Equal(got.Text, []string{"a", "b", "a"}) {
			t.Errorf("%s: label %v", name, got)
		}
	}
}

// values writes a file of a column x and reads its values.
func values(t *testing.T, node pq.Node, f Format, values ...pq.Value) (*embedding.Table, error) {
	t.Helper()
	var b bytes.Buffer
	w := pq.NewWriter(&b, pq.NewSchema("t", pq.Group{"id": pq.String(), "x": node}))
	for i, v := range values {
		id := pq.ByteArrayValue([]byte{'a' + byte(i)}).Level(0, 0, 0)
		if _, err := w.WriteRows([]pq.Row{{id, v.Level(0, 0, 1)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
}

// TestLogicalOfOthers: types that DuckDB does not write.
func TestLogicalOfOthers(t *testing.T) {
	bytesOf := pq.ByteArrayValue
	fixed := pq.FixedLenByteArrayValue
	big128 := new(big.Int).Lsh(big.NewInt(1), 120).Bytes()
	day := func(s string) int64 {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return at.Unix()
	}
	for _, c := range []struct {
		name   string
		node   pq.Node
		values []pq.Value
		want   string
	}{
		{"decimal of bytes", pq.Decimal(2, 20, pq.ByteArrayType), []pq.Value{bytesOf([]byte{7, 0xcf}),
			bytesOf([]byte{0xff}), bytesOf([]byte{0xff, 0xff, 0x38})}, "19.99 -0.01 -2.00"},
		{"decimal of 16 bytes", pq.Decimal(0, 38, pq.FixedLenByteArrayType(16)),
			[]pq.Value{fixed(big128)}, "1329227995784915872903807060280344576"},
		{"day of INT96", pq.Leaf(pq.Int96Type), []pq.Value{pq.Int96Value(deprecated.Int96{0, 0, 2440588}),
			pq.Int96Value(deprecated.Int96{500_000_000, 0, 2440587})},
			"1970-01-01T00:00:00.000 1969-12-31T00:00:00.500"},
		{"before 1970", pq.TimestampAdjusted(pq.Millisecond, false),
			[]pq.Value{pq.Int64Value(day("1900-03-01T00:00:01Z") * 1000)}, "1900-03-01T00:00:01"},
		{"empty time", pq.Time(pq.Millisecond), []pq.Value{pq.Int32Value(0)}, "00:00:00"},
		{"last time", pq.Time(pq.Nanosecond), []pq.Value{pq.Int64Value(86399999999999)}, "23:59:59.999999999"},
		{"far day", pq.Date(), []pq.Value{pq.Int32Value(math.MaxInt32)}, "5881580-07-11"},
		{"enum", pq.Enum(), []pq.Value{bytesOf([]byte("e"))}, "e"},
		{"fixed text", pq.Leaf(pq.FixedLenByteArrayType(2)), []pq.Value{fixed([]byte("ab"))}, "ab"},
	} {
		table, err := values(t, c.node, Format{}, c.values...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for i := range table.Rows() {
			got = append(got, table.Columns[0].At(i))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", c.name, got, c.want)
		}
	}
	for want, node := range map[string]pq.Node{"of type BSON": pq.BSON(),
		"of bytes that are not UTF-8": pq.Leaf(pq.ByteArrayType)} {
		table, err := values(t, node, Format{}, bytesOf([]byte{0xff}))
		if err == nil && len(table.Skipped) == 1 {
			_, err = table.Select("x")
		}
		if err == nil || !strings.Contains(err.Error(), "x is "+want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
