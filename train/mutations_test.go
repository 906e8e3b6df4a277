package train

import (
	"maps"
	"testing"

	"github.com/kindred-ml/kindred/internal/test/mutations"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// TestMutations changes what a checkpoint says beside its tensors, with the checksum put right.
func TestMutations(t *testing.T) {
	good := checkpointFile(t)
	reader := func(name, key string) mutations.Reader {
		return mutations.Reader{Name: name, Valid: []string{good.Meta[key]}, Read: func(text []byte) error {
			file := &safetensors.File{Tensors: good.Tensors, Meta: maps.Clone(good.Meta)}
			file.Meta[key] = string(text)
			file.Meta["crc32c_state"] = stateChecksum(file)
			_, err := load(t, file)
			return err
		}}
	}
	mutations.Try(t, reader("state of a checkpoint", "state"), reader("optimizer of a checkpoint", "optimizer"))
}
