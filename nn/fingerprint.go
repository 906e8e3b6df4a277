package nn

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// Fingerprint returns a digest of all that decides the network's outputs: its input, its layers with their defaults,
// its parameters and running statistics, and its quantization. Names, initial values, and what only training uses do
// not count, so a network that is saved and loaded keeps its fingerprint, whatever the file it came from.
func (e *Net) Fingerprint() (string, error) {
	g, err := e.spec.Graph()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	w := bufio.NewWriterSize(sum, 1<<16)
	if err := e.describe(w, g); err != nil {
		return "", err
	}
	for _, p := range e.params {
		fmt.Fprintln(w, p.Shape)
		for _, v := range p.Value {
			w.Write(binary.LittleEndian.AppendUint32(w.AvailableBuffer(), math.Float32bits(v)))
		}
	}
	if err := w.Flush(); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// describe writes the layers, without their names, and the quantization, which names layers.
func (e *Net) describe(w io.Writer, g *Graph) error {
	text := json.NewEncoder(w)
	for i := range g.Nodes {
		l := g.Nodes[i].Layer
		l.Name, l.Init, l.Start, l.Momentum, l.Rate, l.Room = "", "", 0, 0, 0, 0
		if err := text.Encode([]any{g.Nodes[i].From, l}); err != nil {
			return err
		}
	}
	out := []any{e.spec.Input, g.Out}
	if q := e.opt.Quantization; q != nil {
		out = append(out, q.Ranges, q.Before, q.Corrections, q.Float)
	}
	return text.Encode(out)
}
