package nn

// Activations returns what each step of the last Forward has made, by the name
// of its first layer. Values are those of the engine's buffers, valid until the
// next call of any kind.
func (e *Net) Activations() map[string][]float32 {
	m := map[string][]float32{}
	for _, s := range e.train.steps {
		m[s.label()] = s.output().x.data
	}
	return m
}

// Steps returns the labels of the steps that training and evaluation are compiled
// to; a label with a + is of two convolutions in one.
func (e *Net) Steps() (training, evaluation []string) {
	labels := func(p plan) (l []string) {
		for _, s := range p.steps {
			l = append(l, s.label())
		}
		return l
	}
	return labels(e.train), labels(e.eval)
}
