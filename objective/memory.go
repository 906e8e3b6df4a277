package objective

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/internal/compute/pair"
)

// memory is a queue of earlier embeddings. refs lays the batch and the queue
// out one after the other: the references of a step.
type memory struct {
	size   int
	dim    int
	e      []float32 // up to size embeddings, a ring
	labels []int64
	ids    []int64 // as many as labels, or none
	unit   []bool  // per entry: its norm is 1
	head   int     // where the next goes once the ring is full

	refs  pair.Rows
	batch Batch // of refs; its storage
}

// references returns batch and queue as one.
func (m *memory) references(batch *pair.Rows, b Batch) (*pair.Rows, Batch, error) {
	n, d := batch.E.Rows, batch.E.Cols
	if len(m.labels) > 0 && m.dim != d {
		return nil, Batch{},
			fmt.Errorf("the cross-batch memory holds embeddings of %d numbers, the batch of %d", m.dim, d)
	}
	if len(m.labels) > 0 && (b.IDs != nil) != (m.ids != nil) {
		return nil, Batch{}, errors.New("samples in the cross-batch memory have no identities but those of the batch " +
			"have, or the reverse: give them in every step or in none")
	}
	m.dim = d
	total := n + len(m.labels)
	m.refs.Reserve(total, d)
	m.batch.Labels = append(append(m.batch.Labels[:0], b.Labels...), m.labels...)
	refs := Batch{Labels: m.batch.Labels}
	if b.IDs != nil {
		m.batch.IDs = append(append(m.batch.IDs[:0], b.IDs...), m.ids...)
		refs.IDs = m.batch.IDs
	}
	for i := range n {
		copy(m.refs.E.Row(i), batch.E.Row(i))
	}
	copy(m.refs.Sq, batch.Sq)
	m.refs.Unit = batch.Unit
	for k := range m.labels {
		row := m.refs.E.Row(n + k)
		copy(row, m.e[k*d:(k+1)*d])
		m.refs.Sq[n+k] = pair.SquaredNorm(row)
		if m.unit[k] {
			m.refs.Sq[n+k] = 1
		}
		m.refs.Unit = m.refs.Unit && m.unit[k]
	}
	return &m.refs, refs, nil
}

// push puts the batch into the queue in place of the oldest.
func (m *memory) push(batch *pair.Rows, b Batch) {
	d := m.dim
	for i := max(0, len(b.Labels)-m.size); i < len(b.Labels); i++ {
		if len(m.labels) < m.size {
			m.e = append(m.e, batch.E.Row(i)...)
			m.labels = append(m.labels, b.Labels[i])
			m.unit = append(m.unit, batch.Unit)
			if b.IDs != nil {
				m.ids = append(m.ids, b.IDs[i])
			}
			continue
		}
		copy(m.e[m.head*d:(m.head+1)*d], batch.E.Row(i))
		m.labels[m.head], m.unit[m.head] = b.Labels[i], batch.Unit
		if b.IDs != nil {
			m.ids[m.head] = b.IDs[i]
		}
		m.head = (m.head + 1) % m.size
	}
}

// save returns the queue as it lies.
func (m *memory) save() Memory {
	return Memory{
		Dim: m.dim, Next: m.head,
		Embeddings: slices.Clone(m.e), Labels: slices.Clone(m.labels), IDs: slices.Clone(m.ids),
		Unit: slices.Clone(m.unit),
	}
}

func (m *memory) load(s Memory) error {
	if s.Dim < 0 || s.Dim > len(s.Embeddings) || len(s.Labels)*s.Dim != len(s.Embeddings) || len(s.Labels) > m.size ||
		len(s.Unit) != len(s.Labels) || s.IDs != nil && len(s.IDs) != len(s.Labels) || s.Next < 0 || s.Next >= m.size {
		return fmt.Errorf("a saved cross-batch memory of %d labels and %d numbers of dimension %d, the next at %d, "+
			"does not fit one of %d", len(s.Labels), len(s.Embeddings), s.Dim, s.Next, m.size)
	}
	m.dim, m.head = s.Dim, s.Next
	m.e = append(m.e[:0], s.Embeddings...)
	m.labels = append(m.labels[:0], s.Labels...)
	m.ids = slices.Clone(s.IDs)
	m.unit = append(m.unit[:0], s.Unit...)
	return nil
}
