package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/kindred-ml/kindred/internal/base/float16"
)

// textFunc writes a value that is not null.
type textFunc func(v pq.Value) (string, error)

// chooseTextFunc returns the function that writes the values of a leaf column by its logical type: a decimal with its
// scale, an unsigned integer without a sign, dates and times in ISO 8601, a UUID with hyphens, and bytes as
// text. The error names a type whose values have no text.
func chooseTextFunc(e *format.SchemaElement, t pq.Type) (textFunc, error) {
	kind := t.Kind()
	switch l := logicalType(e, t).(type) {
	case *format.DecimalType:
		return decimalFunc(kind, l)
	case *format.IntType:
		if !l.IsSigned && kind == pq.Int32 {
			return infallible(func(v pq.Value) string { return strconv.FormatUint(uint64(v.Uint32()), 10) }), nil
		}
		if !l.IsSigned && kind == pq.Int64 {
			return infallible(func(v pq.Value) string { return strconv.FormatUint(v.Uint64(), 10) }), nil
		}
	case *format.DateType:
		return infallible(func(v pq.Value) string {
			return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly)
		}), nil
	case *format.TimeType:
		return infallible(func(v pq.Value) string { return toTime(v, &l.Unit).Format("15:04:05.000000000") }), nil
	case *format.TimestampType:
		layout := "2006-01-02T15:04:05.000000000"
		if l.IsAdjustedToUTC {
			layout += "Z"
		}
		return infallible(func(v pq.Value) string { return toTime(v, &l.Unit).Format(layout) }), nil
	case *format.UUIDType:
		return func(v pq.Value) (string, error) {
			if b := v.ByteArray(); len(b) == 16 {
				return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
			}
			return "", fmt.Errorf("a UUID of %d bytes", len(v.ByteArray()))
		}, nil
	case *format.Float16Type:
		return infallible(func(v pq.Value) string {
			return strconv.FormatFloat(float64(halfValue(v)), 'g', -1,
				32)
		}), nil
	case *format.BsonType, *format.VariantType, *format.GeometryType, *format.GeographyType:
		return nil, fmt.Errorf("of type %s", t)
	}
	if e.ConvertedType.Valid && e.ConvertedType.V == deprecated.Interval {
		return formatInterval, nil
	}
	return physicalFunc(kind), nil
}

// logicalType returns the logical type of a column, or nil. The library does not know FLOAT16.
func logicalType(e *format.SchemaElement, t pq.Type) format.LogicalTypeValue {
	if l := t.LogicalType(); l != nil {
		return l.Value
	}
	if isFloat16(e) {
		return e.LogicalType.Value
	}
	return nil
}

// isFloat16 tells whether a column holds IEEE 754 halves.
func isFloat16(e *format.SchemaElement) bool {
	_, half := e.LogicalType.Value.(*format.Float16Type)
	return half && e.Type.Valid && pq.Kind(e.Type.V) == pq.FixedLenByteArray && e.TypeLength.V == 2
}

// halfValue returns the value of a column of IEEE 754 halves.
func halfValue(v pq.Value) float32 { return float16.Float32(binary.LittleEndian.Uint16(v.ByteArray())) }

func infallible(text func(v pq.Value) string) textFunc {
	return func(v pq.Value) (string, error) { return text(v), nil }
}

// physicalFunc writes values without a logical type.
func physicalFunc(kind pq.Kind) textFunc {
	switch kind {
	case pq.Float:
		return infallible(func(v pq.Value) string { return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32) })
	case pq.Double:
		return infallible(func(v pq.Value) string { return strconv.FormatFloat(v.Double(), 'g', -1, 64) })
	case pq.Int96:
		return infallible(func(v pq.Value) string {
			return julianToTime(v.Int96()).Format("2006-01-02T15:04:05.000000000")
		})
	case pq.ByteArray, pq.FixedLenByteArray:
		return func(v pq.Value) (string, error) {
			if !utf8.Valid(v.ByteArray()) {
				return "", errors.New("of bytes that are not UTF-8 text")
			}
			return string(v.ByteArray()), nil
		}
	}
	return infallible(pq.Value.String)
}

// toTime returns the time of a value that counts from 1970 or from midnight.
func toTime(v pq.Value, unit *format.TimeUnit) time.Time {
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		n := v.Int64()
		if v.Kind() == pq.Int32 {
			n = int64(v.Int32())
		}
		return time.UnixMilli(n).UTC()
	case *format.MicroSeconds:
		return time.UnixMicro(v.Int64()).UTC()
	}
	return time.Unix(0, v.Int64()).UTC()
}

// julianToTime returns the time of an INT96 of Spark or Impala: the nanoseconds of a day, and the Julian day.
func julianToTime(v deprecated.Int96) time.Time {
	const epoch = 2440588 // the Julian day of 1970-01-01
	days := int64(int32(v[2])) - epoch
	return time.Unix(days*86400, int64(uint64(v[1])<<32|uint64(v[0]))).UTC()
}

// shortenFractions shortens the fractions of seconds in a column to the needed digits: none, three, six or nine. All
// values keep the same number of digits, so that the order of the texts is the order of the times.
func shortenFractions(column []string) {
	const all = 9
	keep := 0
	for _, s := range column {
		_, fraction, _ := strings.Cut(s, ".")
		digits := len(strings.TrimRight(strings.TrimSuffix(fraction, "Z"), "0"))
		keep = max(keep, (digits+2)/3*3)
	}
	for i, s := range column {
		if before, fraction, ok := strings.Cut(s, "."); ok && len(fraction) >= all {
			if keep > 0 {
				before += "." + fraction[:keep]
			}
			column[i] = before + fraction[all:]
		}
	}
}

// isTime reports whether brief applies to a column.
func isTime(e *format.SchemaElement, t pq.Type) bool {
	switch logicalType(e, t).(type) {
	case *format.TimeType, *format.TimestampType:
		return true
	}
	return t.Kind() == pq.Int96
}

// maxScale is the largest number of digits after the decimal point: DECIMAL(76, 76) takes 256 bits.
const maxScale = 76

// decimalFunc writes decimals with all digits of their scale.
func decimalFunc(kind pq.Kind, d *format.DecimalType) (textFunc, error) {
	if d.Scale < 0 || d.Scale > maxScale {
		return nil, fmt.Errorf("of type %s, whose scale is not from 0 to %d", d, maxScale)
	}
	scale := int(d.Scale)
	return func(v pq.Value) (string, error) {
		switch kind {
		case pq.Int32:
			return insertPoint(strconv.FormatInt(int64(v.Int32()), 10), scale), nil
		case pq.Int64:
			return insertPoint(strconv.FormatInt(v.Int64(), 10), scale), nil
		}
		const most = 64
		b := v.ByteArray()
		if len(b) == 0 || len(b) > most {
			return "", fmt.Errorf("of type %s, with a value of %d bytes", d, len(b))
		}
		n := new(big.Int).SetBytes(b)
		if b[0] >= 0x80 { // two's complement
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		return insertPoint(n.String(), scale), nil
	}, nil
}

// insertPoint inserts the decimal point into digits.
func insertPoint(digits string, scale int) string {
	if scale == 0 {
		return digits
	}
	sign := ""
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "-", rest
	}
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	at := len(digits) - scale
	return sign + digits[:at] + "." + digits[at:]
}

// formatInterval writes the months, days and milliseconds of an INTERVAL as an ISO 8601 duration.
func formatInterval(v pq.Value) (string, error) {
	b := bytes.Clone(v.ByteArray())
	if len(b) != 12 {
		return "", fmt.Errorf("of type INTERVAL, with a value of %d bytes", len(b))
	}
	number := func(i int) uint64 { return uint64(binary.LittleEndian.Uint32(b[4*i:])) }
	out := "P"
	for i, unit := range []string{"M", "D"} {
		if n := number(i); n > 0 {
			out += strconv.FormatUint(n, 10) + unit
		}
	}
	if ms := number(2); ms > 0 || out == "P" {
		seconds := insertPoint(strconv.FormatUint(ms, 10), 3)
		out += "T" + strings.TrimSuffix(strings.TrimRight(seconds, "0"), ".") + "S"
	}
	return out, nil
}
