package objective

import (
	"fmt"
	"slices"

	"github.com/kindred-ml/kindred/pair"
)

// memory is a queue of earlier embeddings. refs lays the batch and the queue
// out one after the other: the references of a step.
type memory struct {
	size   int
	dim    int
	e      []float32 // up to size embeddings, a ring
	labels []int64
	head   int // where the next goes once the ring is full

	refs      pair.Rows
	refLabels []int64
	unit      []bool // per entry of the ring: its norm is 1
}

// references returns batch and queue as one.
func (m *memory) references(batch *pair.Rows, labels []int64) (*pair.Rows, []int64, error) {
	n, d := batch.E.Rows, batch.E.Cols
	if len(m.labels) > 0 && m.dim != d {
		return nil, nil, fmt.Errorf("the cross-batch memory holds embeddings of %d numbers, the batch of %d", m.dim, d)
	}
	m.dim = d
	total := n + len(m.labels)
	m.refs.Reserve(total, d)
	m.refLabels = resize(m.refLabels, total)
	for i := range n {
		copy(m.refs.E.Row(i), batch.E.Row(i))
	}
	copy(m.refs.Sq, batch.Sq)
	copy(m.refLabels, labels)
	m.refs.Unit = batch.Unit
	for k, y := range m.labels {
		row := m.refs.E.Row(n + k)
		copy(row, m.e[k*d:(k+1)*d])
		m.refs.Sq[n+k] = pair.SquaredNorm(row)
		if m.unit[k] {
			m.refs.Sq[n+k] = 1
		}
		m.refs.Unit = m.refs.Unit && m.unit[k]
		m.refLabels[n+k] = y
	}
	return &m.refs, m.refLabels, nil
}

// push puts the batch into the queue in place of the oldest.
func (m *memory) push(batch *pair.Rows, labels []int64) {
	d := m.dim
	for i := max(0, len(labels)-m.size); i < len(labels); i++ {
		if len(m.labels) < m.size {
			m.e = append(m.e, batch.E.Row(i)...)
			m.labels = append(m.labels, labels[i])
			m.unit = append(m.unit, batch.Unit)
			continue
		}
		copy(m.e[m.head*d:(m.head+1)*d], batch.E.Row(i))
		m.labels[m.head], m.unit[m.head] = labels[i], batch.Unit
		m.head = (m.head + 1) % m.size
	}
}

// save returns the queue as it lies.
func (m *memory) save() Memory {
	return Memory{
		Dim: m.dim, Next: m.head,
		Embeddings: slices.Clone(m.e), Labels: slices.Clone(m.labels), Unit: slices.Clone(m.unit),
	}
}

func (m *memory) load(s Memory) error {
	if len(s.Labels)*s.Dim != len(s.Embeddings) || len(s.Labels) > m.size || len(s.Unit) != len(s.Labels) || s.Next < 0 || s.Next >= m.size {
		return fmt.Errorf("a saved cross-batch memory of %d labels and %d numbers of dimension %d, the next at %d, does not fit one of %d", len(s.Labels), len(s.Embeddings), s.Dim, s.Next, m.size)
	}
	m.dim, m.head = s.Dim, s.Next
	m.e = append(m.e[:0], s.Embeddings...)
	m.labels = append(m.labels[:0], s.Labels...)
	m.unit = append(m.unit[:0], s.Unit...)
	return nil
}
