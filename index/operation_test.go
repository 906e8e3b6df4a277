package index

import (
	"errors"
	"testing"
)

// An operation that ends within a number of its own is none: what follows is not taken for it.
func TestOperationsCutOff(t *testing.T) {
	for name, text := range map[string]string{
		"a length that ends nowhere": "\x02\x80\x80",
		"a length of eleven bytes":   "\x02\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
		"no length":                  "\x02", "a text that ends before": "\x02\x05abcd", "no operation": "\x03",
		"a number of fields whose bytes make a vector": "\x01\x01a\x00\x80\x80\x80\x80",
		"half a vector": "\x01\x01a\x00\x00\x00\x00", "fields without end": "\x01\x01a\x00\x02\x01c\x03\x01",
		"a field of no kind": "\x01\x01a\x00\x01\x01c\x04\x00\x00\x00\x00\x00",
	} {
		if ops, err := decodeOperations([]byte(text), 1); !errors.Is(err, errOperation) {
			t.Errorf("%s: %v, %v", name, ops, err)
		}
	}
	ops, err := decodeOperations([]byte("\x02\x01b\x01\x01a\x00\x01\x01c\x03\x01\x00\x00\x80\x3f"), 1)
	if err != nil || len(ops) != 2 || ops[0].remove != "b" || ops[1].entry.ID != "a" ||
		ops[1].entry.Columns["c"] != true || ops[1].entry.Vector[0] != 1 {
		t.Errorf("%+v, %v", ops, err)
	}
}
