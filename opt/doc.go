// Package opt holds numbers that may be left out of a configuration and whose
// default is not 0, such as a margin of 0.2.
//
// A struct of options has a field of type Float with the default in its comment.
// The caller leaves the field out or sets it with Of; the code that reads it names
// the default once, in Or:
//
//	type Hinge struct {
//		Margin opt.Float // default 0.2
//	}
//
//	Hinge{}.Margin.Or(0.2)                   // 0.2
//	Hinge{Margin: opt.Of(0)}.Margin.Or(0.2)  // 0
//
// In JSON a Float is a number or null, as text the number or nothing. Of an
// optional field write `json:"margin,omitzero"`, or `yaml:"margin,omitempty"`.
package opt
