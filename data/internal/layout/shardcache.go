package layout

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/data/internal/tree"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/base/home"
)

// shardCache keeps the indexes of large shards, so that shards are read through only once. An index is
// valid for the state of the shard that it was made of.
type shardCache struct {
	dir     string // the folder of the indexes; "" if none are kept
	minSize int64  // size in bytes of the smallest shard whose index is kept
	fields  string
}

// minIndexedShard is the size of a shard, in bytes, below which its index is not worth keeping.
const minIndexedShard = 16 << 20

// newShardCache returns a cache in the folder shards of the user's cache folder, if there is one.
func newShardCache(fields []string) *shardCache {
	dir, err := home.Folder("shards", "", "")
	if err != nil {
		dir = ""
	}
	return &shardCache{dir, minIndexedShard, strings.Join(fields, "\n")}
}

// keptIndex is the content of a file of the cache, which follows its SHA-256.
type keptIndex struct {
	Where, State, Fields string
	Index                tarIndex
}

func (c *shardCache) path(where string) string {
	if abs, err := filepath.Abs(where); err == nil && !strings.Contains(where, "://") {
		where = abs
	}
	sum := sha256.Sum256([]byte(where + "\n" + c.fields))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:12])+".index")
}

// find returns the kept index of a shard in its present state, or nil if there is no valid one.
func (c *shardCache) find(where string, f *tree.RangeFile) *tarIndex {
	if c.dir == "" || f.Size < c.minSize || f.State == "" {
		return nil
	}
	b, err := fileinfo.ReadFile(c.path(where))
	if err != nil || len(b) < sha256.Size {
		return nil
	}
	if sum := sha256.Sum256(b[sha256.Size:]); !bytes.Equal(sum[:], b[:sha256.Size]) {
		return nil
	}
	var k keptIndex
	if gob.NewDecoder(bytes.NewReader(b[sha256.Size:])).Decode(&k) != nil || k.Where != where || k.State != f.State ||
		k.Fields != c.fields {
		return nil
	}
	return &k.Index
}

// put keeps an index. It does nothing if the cache cannot be written.
func (c *shardCache) put(where string, f *tree.RangeFile, x *tarIndex) {
	if c.dir == "" || f.Size < c.minSize || f.State == "" || os.MkdirAll(c.dir, 0o777) != nil {
		return
	}
	var b bytes.Buffer
	if gob.NewEncoder(&b).Encode(keptIndex{where, f.State, c.fields, *x}) != nil {
		return
	}
	sum := sha256.Sum256(b.Bytes())
	_ = atomic.WriteFile(c.path(where), atomic.Bytes(append(sum[:], b.Bytes()...)))
}
