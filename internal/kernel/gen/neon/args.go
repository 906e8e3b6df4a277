package neon

import (
	"fmt"
	"go/ast"
	"go/parser"
)

// arg is a parameter's or the result's place.
type arg struct {
	offset, size int
	float        bool
}

// layout finds where Go's assembly has the parameters: in order, each at a multiple of
// its size, the result behind them at a multiple of eight.
func (k *Func) layout() {
	e, err := parser.ParseExpr("func(" + k.params + ") " + k.result)
	if err != nil {
		panic(fmt.Sprintf("%s(%s) %s: %v", k.Name, k.params, k.result, err))
	}
	t := e.(*ast.FuncType)
	k.args = map[string]arg{}
	place := func(name string, typ ast.Expr) {
		size, float := 8, false
		if id, ok := typ.(*ast.Ident); ok {
			switch id.Name {
			case "int", "int64", "uint64", "uintptr":
			case "float32":
				size, float = 4, true
			case "int32", "uint32":
				size = 4
			case "bool", "uint8", "int8":
				size = 1
			default:
				panic(k.Name + ": type " + id.Name)
			}
		} else if _, ok := typ.(*ast.StarExpr); !ok {
			panic(k.Name + ": a parameter that is neither a number nor a pointer")
		}
		k.argBytes = (k.argBytes + size - 1) / size * size
		k.args[name] = arg{k.argBytes, size, float}
		k.argBytes += size
	}
	for _, p := range t.Params.List {
		for _, name := range p.Names {
			place(name.Name, p.Type)
		}
	}
	if t.Results != nil && len(t.Results.List) > 0 {
		k.argBytes = (k.argBytes + 7) &^ 7
		place("ret", t.Results.List[0].Type)
	}
}

func (k *Func) arg(name string) (arg, string) {
	a, ok := k.args[name]
	if !ok {
		panic(k.Name + ": no parameter " + name)
	}
	return a, fmt.Sprintf("%s+%d(FP)", name, a.offset)
}

// Arg returns a new general register with a parameter.
func (k *Func) Arg(name string) R {
	r := k.R()
	k.LoadArg(name, r)
	return r
}

// LoadArg loads a parameter.
func (k *Func) LoadArg(name string, r R) {
	a, at := k.arg(name)
	k.Go("%s %s, %v", map[int]string{8: "MOVD", 4: "MOVW", 1: "MOVBU"}[a.size], at, r)
}

// Broadcast returns a new register with a float32 parameter in every lane.
func (k *Func) Broadcast(name string) V {
	v := k.V()
	a, at := k.arg(name)
	if !a.float {
		panic(k.Name + ": " + name + " is no float32")
	}
	k.Go("FMOVS %s, F%d", at, int(v))
	k.Op("dup", v.S4(), v.SLane(0))
	return v
}

// Return stores the result, which is an integer.
func (k *Func) Return(r R) {
	a, at := k.arg("ret")
	k.Go("%s %v, %s", map[int]string{8: "MOVD", 4: "MOVW", 1: "MOVB"}[a.size], r, at)
	k.Go("RET")
}

// ReturnFloat stores the result, which is the lowest lane of a register.
func (k *Func) ReturnFloat(v V) {
	_, at := k.arg("ret")
	k.Go("FMOVS F%d, %s", int(v), at)
	k.Go("RET")
}
