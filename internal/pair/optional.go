package pair

// Optional is a number in a configuration whose default is not 0: the zero
// value stands for the default.
type Optional struct {
	value float64
	set   bool
}

// Set returns an Optional that is set to x.
func Set(x float64) Optional { return Optional{x, true} }

// Or returns the number, or def if none is set.
func (o Optional) Or(def float64) float64 {
	if o.set {
		return o.value
	}
	return def
}

// IsSet reports whether a number is set.
func (o Optional) IsSet() bool { return o.set }
