// Package driver is shared by the drivers of vector databases: it has valid names of properties and
// items, and the addresses of clusters.
package driver

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/google/uuid"

	"github.com/kindred-ml/kindred/store"
)

// namespace is the namespace of the UUIDs.
var namespace = uuid.MustParse("6f4f9be5-3d6f-5ac9-8cf1-5c1d3f0b7e21")

// UUID returns the version 5 UUID of an id.
func UUID(id string) string { return uuid.NewSHA1(namespace, []byte(id)).String() }

// maxDirectName is the longest name of a column that is used directly; a longer one is replaced by its digest.
const maxDirectName = 100

// PropertyName returns the name of the property for a column's values of a kind: t_, n_ or b_ for
// texts, numbers and truth values, then the column's name, with an underscore and two digits for
// each byte that is not an ASCII letter or digit.
func PropertyName(kind store.Kind, column string) string {
	var b strings.Builder
	b.WriteString(string(kind)[:1] + "_")
	for _, c := range []byte(column) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			b.WriteByte(c)
		} else {
			b.WriteString("_" + hex.EncodeToString([]byte{c}))
		}
	}
	if b.Len() > maxDirectName {
		sum := sha256.Sum256([]byte(column))
		return string(kind)[:1] + "__" + hex.EncodeToString(sum[:])
	}
	return b.String()
}
