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
