package torchfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nlpodyssey/gopickle/types"
)

// A TorchScript program, which torch.jit.save writes and CLIP is published as,
// keeps its tensors as the attributes of a module and of the modules within it.
// Its code is not looked at.

// scriptClasses are the names that the classes of programs begin with.
const scriptClasses = "__torch__."

// moduleClass makes modules.
type moduleClass struct{}

// PyNew implements types.PyNewable.
func (moduleClass) PyNew(...any) (any, error) { return &module{}, nil }

// module is an object of a program.
type module struct{ attributes []types.DictEntry }

// PySetState implements types.PyStateSettable.
func (m *module) PySetState(state any) error {
	entries, ok := dictEntries(state)
	if !ok {
		return fmt.Errorf("a module whose attributes are %s", describe(state))
	}
	m.attributes = append(m.attributes, entries...)
	return nil
}

// findInScript is findClass for a program.
func findInScript(module, name string) (any, error) {
	switch {
	case strings.HasPrefix(module+".", scriptClasses):
		return moduleClass{}, nil
	case module == "torch.jit._pickle": // lists and types that attributes are marked with
		return callable(func(args []any) (any, error) {
			if len(args) == 0 {
				return nil, errors.New("a mark on nothing")
			}
			return args[0], nil
		}), nil
	}
	return findClass(module, name)
}

const (
	maxModuleDepth = 100
	maxModuleName  = 1000 // bytes of a tensor's name
)

// flatten lists the tensors of a module and of those within it under dotted names,
// as its state dict has them. left counts down what may still be visited: modules
// may be shared, and hold each other.
func (m *module) flatten(prefix string, depth int, left *int) (*types.Dict, error) {
	all := types.NewDict()
	if depth > maxModuleDepth {
		return nil, fmt.Errorf("modules are nested more than %d deep", maxModuleDepth)
	}
	for _, e := range m.attributes {
		if *left--; *left < 0 {
			return nil, errors.New("modules hold each other")
		}
		key, ok := e.Key.(string)
		if !ok || len(prefix)+len(key) > maxModuleName {
			continue
		}
		switch v := e.Value.(type) {
		case *tensor:
			all.Set(prefix+key, v)
		case *module:
			inner, err := v.flatten(prefix+key+".", depth+1, left)
			if err != nil {
				return nil, err
			}
			*all = append(*all, *inner...)
		}
	}
	return all, nil
}
