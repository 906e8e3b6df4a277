package embedding

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/nn/safetensors"
)

// Tensors hold no text, so texts are in the metadata of a file. These keys hold the names of the items, as a JSON
// list, and, by the name of a tensor of labels, the texts of its numbers: number i means element i of a list.
const (
	metaFiles = "kindred.path"
	metaNames = "kindred.names"
)

// readMeta reads the names that writeSafetensors puts in the metadata.
func readMeta(meta map[string]string) (files []string, names map[string][]string, err error) {
	for key, to := range map[string]any{metaFiles: &files, metaNames: &names} {
		text, ok := meta[key]
		if !ok {
			continue
		}
		if err := strictjson.Unmarshal([]byte(text), to); err != nil {
			return nil, nil, fmt.Errorf("the metadata %s: %w", key, err)
		}
	}
	return files, names, nil
}

// nameValues replaces numbers by their texts.
func (a *Array) nameValues(tensor string, texts []string) error {
	if a.Ints == nil {
		return fmt.Errorf("%s has names, but it does not hold integers", tensor)
	}
	a.Text = make([]string, len(a.Ints))
	for i, v := range a.Ints {
		if v < 0 || v >= int64(len(texts)) {
			return fmt.Errorf("%s: value %d at position %d has none of the %d names", tensor, v, i, len(texts))
		}
		a.Text[i] = texts[v]
	}
	a.Ints = nil
	return nil
}

// writeSafetensors writes the tensors embeddings, id and one for each column of labels. Labels of text become
// numbers in the order of the texts. The metadata has the texts of the numbers and the names of the items.
func writeSafetensors(w io.Writer, t *Table) error {
	f := &safetensors.File{Meta: make(map[string]string)}
	put := func(key string, v any) error {
		b, err := json.Marshal(v)
		f.Meta[key] = string(b)
		return err
	}
	if t.X != nil {
		values := make([]float32, 0, t.X.Rows*t.X.Cols)
		for i := range t.X.Rows {
			values = append(values, t.X.Row(i)...)
		}
		f.Tensors = append(f.Tensors, safetensors.Float32(embeddingNames[0], []int{t.X.Rows, t.X.Cols}, values))
	}
	names := make(map[string][]string)
	for _, c := range t.labelColumns() {
		ids, texts := Unify(c)
		if texts != nil {
			names[c.Name] = texts
		}
		f.Tensors = append(f.Tensors, safetensors.Int64(c.Name, []int{len(ids[0])}, ids[0]))
	}
	if len(names) > 0 {
		if err := put(metaNames, names); err != nil {
			return err
		}
	}
	if t.Files != nil {
		if err := put(metaFiles, t.Files); err != nil {
			return err
		}
	}
	if t.Network.Fingerprint != "" {
		text, err := t.Network.JSON()
		if err != nil {
			return err
		}
		f.Meta[MetadataKey] = string(text)
	}
	return f.Write(w)
}
