package neon

import (
	"fmt"
	"strings"
)

// Op adds an instruction in Arm's notation: its name, the result, the operands. It
// panics if it does not know the instruction or the operands do not fit it.
func (k *Func) Op(name string, operands ...Operand) {
	w, err := encode(name, operands)
	if err != nil {
		panic(fmt.Sprintf("%s: %s: %v", k.Name, notation(name, operands), err))
	}
	k.lines = append(k.lines, fmt.Sprintf("\tWORD\t$0x%08x // %s", w, notation(name, operands)))
}

func notation(name string, operands []Operand) string {
	var words []string
	for i, o := range operands {
		s := o.String()
		if name == "ld1r" && i == 0 || name == "tbl" && i == 1 {
			s = "{" + s + "}"
		}
		words = append(words, s)
	}
	return name + " " + strings.Join(words, ", ")
}

// form is how an instruction's operands enter its word.
type form int

const (
	integers   form = iota + 1 // three of one arrangement, integers
	bits                       // three whole registers
	floats                     // three of one arrangement, floats
	lengthen                   // the result's lanes are twice as long as the others'
	widen                      // the third operand's lanes are half as long
	unary                      // two of one arrangement, integers
	unaryBits                  // two whole registers
	unaryFloat                 // two of one arrangement, floats
	halve                      // the result's lanes are half as long; also of pairs: twice
	pairs                      // the result's lanes are twice as long, half as many
	longFloat                  // the same, of one half of the operand, floats
	across                     // the result is a scalar
	permute                    // three of one arrangement
	leftShift                  // two of one arrangement and a constant
	rightShift                 // the same
	longShift                  // the result's lanes are twice as long
	shortShift                 // the result's lanes are half as long
	fixed                      // three registers that are told by the word
)

type instruction struct {
	form form
	word uint32
}

// instructions are those whose word is a pattern with registers in their places and
// the lanes' length in the form's. The word has the bits that name the instruction;
// Arm's manual has them (DDI 0487, C4.1, "Advanced SIMD").
var instructions = map[string]instruction{
	"add": {integers, 0x0e208400}, "sub": {integers, 0x2e208400}, "mul": {integers, 0x0e209c00},
	"mla": {integers, 0x0e209400}, "mls": {integers, 0x2e209400}, "addp": {integers, 0x0e20bc00},
	"cmgt": {integers, 0x0e203400}, "cmge": {integers, 0x0e203c00}, "cmhi": {integers, 0x2e203400},
	"cmhs": {integers, 0x2e203c00}, "cmeq": {integers, 0x2e208c00}, "cmtst": {integers, 0x0e208c00},
	"smax": {integers, 0x0e206400}, "smin": {integers, 0x0e206c00}, "umax": {integers, 0x2e206400},
	"umin": {integers, 0x2e206c00}, "sabd": {integers, 0x0e207400}, "uabd": {integers, 0x2e207400},
	"sqadd": {integers, 0x0e200c00}, "uqadd": {integers, 0x2e200c00}, "sqsub": {integers, 0x0e202c00},
	"uqsub": {integers, 0x2e202c00}, "uhadd": {integers, 0x2e200400}, "urhadd": {integers, 0x2e201400},
	"sqdmulh": {integers, 0x0e20b400}, "sqrdmulh": {integers, 0x2e20b400}, "sshl": {integers, 0x0e204400},
	"ushl": {integers, 0x2e204400}, "smaxp": {integers, 0x0e20a400}, "umaxp": {integers, 0x2e20a400},

	"and": {bits, 0x0e201c00}, "bic": {bits, 0x0e601c00}, "orr": {bits, 0x0ea01c00}, "orn": {bits, 0x0ee01c00},
	"eor": {bits, 0x2e201c00}, "bsl": {bits, 0x2e601c00}, "bit": {bits, 0x2ea01c00}, "bif": {bits, 0x2ee01c00},

	"fadd": {floats, 0x0e20d400}, "fsub": {floats, 0x0ea0d400}, "fmul": {floats, 0x2e20dc00},
	"fdiv": {floats, 0x2e20fc00}, "fmla": {floats, 0x0e20cc00}, "fmls": {floats, 0x0ea0cc00},
	"fmax": {floats, 0x0e20f400}, "fmin": {floats, 0x0ea0f400}, "fmaxnm": {floats, 0x0e20c400},
	"fminnm": {floats, 0x0ea0c400}, "fcmeq": {floats, 0x0e20e400}, "fcmge": {floats, 0x2e20e400},
	"fcmgt": {floats, 0x2ea0e400}, "facge": {floats, 0x2e20ec00}, "facgt": {floats, 0x2ea0ec00},
	"faddp": {floats, 0x2e20d400}, "fmaxp": {floats, 0x2e20f400}, "fmaxnmp": {floats, 0x2e20c400},
	"fminp": {floats, 0x2ea0f400}, "fabd": {floats, 0x2ea0d400},

	"saddl": {lengthen, 0x0e200000}, "uaddl": {lengthen, 0x2e200000}, "ssubl": {lengthen, 0x0e202000},
	"usubl": {lengthen, 0x2e202000}, "smlal": {lengthen, 0x0e208000}, "umlal": {lengthen, 0x2e208000},
	"smlsl": {lengthen, 0x0e20a000}, "umlsl": {lengthen, 0x2e20a000}, "smull": {lengthen, 0x0e20c000},
	"umull": {lengthen, 0x2e20c000}, "sabdl": {lengthen, 0x0e207000}, "uabdl": {lengthen, 0x2e207000},
	"saddw": {widen, 0x0e201000}, "uaddw": {widen, 0x2e201000},

	"abs": {unary, 0x0e20b800}, "neg": {unary, 0x2e20b800}, "rev64": {unary, 0x0e200800},
	"mov": {unaryBits, 0}, "not": {unaryBits, 0x2e205800}, "cnt": {unaryBits, 0x0e205800},
	"fabs": {unaryFloat, 0x0ea0f800}, "fneg": {unaryFloat, 0x2ea0f800}, "fsqrt": {unaryFloat, 0x2ea1f800},
	"frintn": {unaryFloat, 0x0e218800}, "frintm": {unaryFloat, 0x0e219800}, "frintp": {unaryFloat, 0x0ea18800},
	"frintz": {unaryFloat, 0x0ea19800}, "fcvtns": {unaryFloat, 0x0e21a800}, "fcvtms": {unaryFloat, 0x0e21b800},
	"fcvtzs": {unaryFloat, 0x0ea1b800}, "fcvtas": {unaryFloat, 0x0e21c800}, "scvtf": {unaryFloat, 0x0e21d800},
	"ucvtf": {unaryFloat, 0x2e21d800}, "frecpe": {unaryFloat, 0x0ea1d800}, "frsqrte": {unaryFloat, 0x2ea1d800},

	"fcvtl": {longFloat, 0x0e217800},

	"xtn": {halve, 0x0e212800}, "sqxtn": {halve, 0x0e214800}, "uqxtn": {halve, 0x2e214800},
	"sqxtun": {halve, 0x2e212800}, "saddlp": {pairs, 0x0e202800}, "uaddlp": {pairs, 0x2e202800},
	"sadalp": {pairs, 0x0e206800}, "uadalp": {pairs, 0x2e206800},

	"addv": {across, 0x0e31b800}, "saddlv": {across, 0x0e303800}, "uaddlv": {across, 0x2e303800},
	"smaxv": {across, 0x0e30a800}, "umaxv": {across, 0x2e30a800}, "sminv": {across, 0x0e31a800},
	"uminv": {across, 0x2e31a800},

	"uzp1": {permute, 0x0e001800}, "uzp2": {permute, 0x0e005800}, "trn1": {permute, 0x0e002800},
	"trn2": {permute, 0x0e006800}, "zip1": {permute, 0x0e003800}, "zip2": {permute, 0x0e007800},

	"shl": {leftShift, 0x0f005400}, "sli": {leftShift, 0x2f005400}, "sshr": {rightShift, 0x0f000400},
	"ushr": {rightShift, 0x2f000400}, "ssra": {rightShift, 0x0f001400}, "usra": {rightShift, 0x2f001400},
	"srshr": {rightShift, 0x0f002400}, "urshr": {rightShift, 0x2f002400}, "sri": {rightShift, 0x2f004400},
	"sshll": {longShift, 0x0f00a400}, "ushll": {longShift, 0x2f00a400}, "shrn": {shortShift, 0x0f008400},
	"rshrn": {shortShift, 0x0f008c00}, "sqshrn": {shortShift, 0x0f009400}, "sqrshrn": {shortShift, 0x0f009c00},
	"uqshrn": {shortShift, 0x2f009400}, "sqshrun": {shortShift, 0x2f008400}, "sqrshrun": {shortShift, 0x2f008c00},

	"sdot": {fixed, 0x4e809400}, "udot": {fixed, 0x6e809400}, "usdot": {fixed, 0x4e809c00},
	"smmla": {fixed, 0x4e80a400}, "usmmla": {fixed, 0x4e80ac00}, "bfdot": {fixed, 0x6e40fc00},
	"bfmmla": {fixed, 0x6e40ec00}, "bfmlalb": {fixed, 0x2ec0fc00}, "bfmlalt": {fixed, 0x6ec0fc00},
}

// limits are the shortest and the longest lanes of the result, as log2 of their bytes,
// where the form would let others through.
var limits = map[string][2]uint32{
	"mul": {0, 2}, "mla": {0, 2}, "mls": {0, 2}, "smax": {0, 2}, "smin": {0, 2}, "umax": {0, 2}, "umin": {0, 2},
	"sabd": {0, 2}, "uabd": {0, 2}, "uhadd": {0, 2}, "urhadd": {0, 2}, "smaxp": {0, 2}, "umaxp": {0, 2},
	"sqdmulh": {1, 2}, "sqrdmulh": {1, 2}, "rev64": {0, 2},
}

// byElement are those whose third operand may be a lane.
var byElement = map[string]uint32{
	"fmla": 0x0f001000, "fmls": 0x0f005000, "fmul": 0x0f009000, "mul": 0x0f008000, "mla": 0x2f000000,
	"smlal": 0x0f002000, "umlal": 0x2f002000, "smull": 0x0f00a000, "umull": 0x2f00a000,
	"sdot": 0x0f00e000, "udot": 0x2f00e000,
}

// lanesOf are the lanes' length, as log2 of the bytes, and whether they fill the register.
var lanesOf = map[string]struct{ size, full uint32 }{
	"8b": {0, 0}, "16b": {0, 1}, "4h": {1, 0}, "8h": {1, 1}, "2s": {2, 0}, "4s": {2, 1}, "2d": {3, 1},
}

var errOperands = fmt.Errorf("these operands do not fit it")

func encode(name string, o []Operand) (uint32, error) {
	if len(o) > 0 && (o[len(o)-1].kind == memory || o[len(o)-1].kind == indexed || o[len(o)-1].kind == post) {
		return encodeMemory(name, o)
	}
	if len(o) == 3 && o[2].kind == lane && (o[0].kind == vector) && o[1].kind == vector {
		return encodeByElement(name, o)
	}
	switch {
	case len(o) == 2 && name == "mov" && (o[0].kind == lane || o[1].kind == lane),
		name == "dup", name == "umov", name == "smov", name == "fmov":
		return encodeMove(name, o)
	case name == "movi", name == "ext", name == "tbl":
		return encodeOdd(name, o)
	}
	base, high := name, uint32(0)
	in, ok := instructions[base]
	if !ok && strings.HasSuffix(name, "2") {
		base, high = strings.TrimSuffix(name, "2"), 1
		in = instructions[base]
		switch in.form {
		case lengthen, widen, halve, longFloat, longShift, shortShift:
			ok = true
		}
	}
	if !ok {
		return 0, fmt.Errorf("this package does not know it")
	}
	for _, r := range o[:min(1, len(o))] {
		size := lanesOf[r.arr].size
		if l, some := limits[base]; some && r.kind == vector && (size < l[0] || size > l[1]) {
			return 0, errOperands
		}
	}
	return in.encode(base, high, o)
}

// encode enters vectors and shifts. high is 1 for instructions that take the upper half.
func (in instruction) encode(name string, high uint32, o []Operand) (uint32, error) {
	w := in.word
	get := func(i int, k kind) (reg, size, full uint32) {
		if i >= len(o) || o[i].kind != k {
			return 0, 99, 99
		}
		l := lanesOf[o[i].arr]
		return uint32(o[i].reg), l.size, l.full
	}
	d, ds, dq := get(0, vector)
	n, ns, nq := get(1, vector)
	m, ms, mq := get(2, vector)
	if in.form != across && ds > 3 {
		return 0, errOperands
	}
	same2, same3 := ds == ns && dq == nq, ds == ns && dq == nq && ns == ms && nq == mq
	two, three := len(o) == 2, len(o) == 3
	ok := false
	switch in.form {
	case integers, permute:
		ok = three && same3
		w |= dq<<30 | ds<<22
	case bits:
		ok = three && same3 && ds == 0
		w |= dq << 30
	case floats:
		ok = three && same3 && ds >= 2
		w |= dq<<30 | (ds-2)<<22
	case lengthen:
		ok = three && ns == ms && nq == mq && nq == high && dq == 1 && ds == ns+1
		w |= high<<30 | ns<<22
	case widen:
		ok = three && ds == ns && dq == 1 && nq == 1 && ms+1 == ds && mq == high
		w |= high<<30 | ms<<22
	case unary:
		ok = two && same2
		w |= dq<<30 | ds<<22
	case unaryBits:
		ok = two && same2 && ds == 0
		if name == "mov" {
			w, m = instructions["orr"].word, n
		}
		w |= dq << 30
	case unaryFloat:
		ok = two && same2 && ds >= 2
		w |= dq<<30 | (ds-2)<<22
	case halve:
		ok = two && ns == ds+1 && nq == 1 && dq == high
		w |= high<<30 | ds<<22
	case longFloat:
		ok = two && ds == 3 && ns == 2 && nq == high
		w |= high<<30 | (ns-1)<<22
	case pairs:
		ok = two && ds == ns+1 && dq == nq
		w |= nq<<30 | ns<<22
	case across:
		ok = two && o[0].kind == scalar && o[1].kind == vector && o[0].arr != "q"
		d = uint32(o[0].reg)
		w |= nq<<30 | ns<<22
	case fixed:
		arr := "16b"
		if strings.HasPrefix(name, "bf") {
			arr = "8h"
		}
		ok = three && o[0].arr == "4s" && o[1].arr == arr && o[2].arr == arr
	case leftShift, rightShift, longShift, shortShift:
		return in.encodeShift(high, o, d, ds, dq, n, ns, nq)
	}
	if !ok {
		return 0, errOperands
	}
	if in.form == across {
		m = 0
	}
	return w | m<<16 | n<<5 | d, nil
}

func (in instruction) encodeShift(high uint32, o []Operand, d, ds, dq, n, ns, nq uint32) (uint32, error) {
	if len(o) != 3 || o[2].kind != immediate || ds > 3 || ns > 3 {
		return 0, errOperands
	}
	by, short, ok := o[2].n, min(ds, ns), false
	most := 8 << short
	field := uint32(most + by)
	switch in.form {
	case leftShift:
		ok, high = ds == ns && dq == nq && by >= 0 && by < most, dq
	case rightShift:
		ok, high = ds == ns && dq == nq && by > 0 && by <= most, dq
		field = uint32(2*most - by)
	case longShift:
		ok = ds == ns+1 && dq == 1 && nq == high && by >= 0 && by < most
	case shortShift:
		ok = ns == ds+1 && nq == 1 && dq == high && by > 0 && by <= most
		field = uint32(2*most - by)
	}
	if !ok {
		return 0, errOperands
	}
	return in.word | high<<30 | field<<16 | n<<5 | d, nil
}

func encodeByElement(name string, o []Operand) (uint32, error) {
	base, high := name, uint32(0)
	w, ok := byElement[base]
	long := false
	if !ok && strings.HasSuffix(name, "2") {
		base, high = strings.TrimSuffix(name, "2"), 1
		w, ok = byElement[base]
	}
	switch base {
	case "smlal", "umlal", "smull", "umull":
		long = true
	}
	if !ok || high == 1 && !long {
		return 0, fmt.Errorf("this package does not know it by element")
	}
	d, n, m := o[0], o[1], o[2]
	ds, ns := lanesOf[d.arr], lanesOf[n.arr]
	index, reg := uint32(m.n), uint32(m.reg)
	switch {
	case base == "sdot" || base == "udot":
		if m.arr != "4b" || d.arr != "4s" || n.arr != "16b" {
			return 0, errOperands
		}
		high = 1
	case long && (ds.size != ns.size+1 || ds.full != 1 || ns.full != high), !long && ds != ns:
		return 0, errOperands
	case !long:
		high = ds.full
	}
	float := strings.HasPrefix(base, "f")
	switch {
	case m.arr == "h" && ns.size == 1 && !float && index < 8 && reg < 16:
		w |= 1<<22 | index>>2<<11 | index>>1&1<<21 | index&1<<20 | reg<<16
	case (m.arr == "s" && ns.size == 2 || m.arr == "4b") && index < 4:
		w |= 2<<22 | index>>1<<11 | index&1<<21 | reg<<16
	default:
		return 0, errOperands
	}
	return w | high<<30 | uint32(n.reg)<<5 | uint32(d.reg), nil
}

// laneSize is log2 of a lane's bytes.
var laneSize = map[string]uint32{"b": 0, "h": 1, "s": 2, "d": 3, "q": 4}

// encodeMove enters copies of lanes and between kinds of registers.
func encodeMove(name string, o []Operand) (uint32, error) {
	if len(o) != 2 {
		return 0, errOperands
	}
	d, s := o[0], o[1]
	regs := uint32(s.reg)<<5 | uint32(d.reg)
	imm5 := func(size uint32, i int) uint32 { return (uint32(2*i+1) << size) << 16 }
	switch {
	case name == "dup" && d.kind == vector && s.kind == lane && lanesOf[d.arr].size == laneSize[s.arr]:
		return 0x0e000400 | lanesOf[d.arr].full<<30 | imm5(laneSize[s.arr], s.n) | regs, nil
	case name == "dup" && d.kind == vector && s.kind == general && (lanesOf[d.arr].size == 3) == (s.arr == "x"):
		return 0x0e000c00 | lanesOf[d.arr].full<<30 | imm5(lanesOf[d.arr].size, 0) | regs, nil
	case name == "mov" && d.kind == lane && s.kind == lane && d.arr == s.arr:
		return 0x6e000400 | imm5(laneSize[d.arr], d.n) | uint32(s.n)<<laneSize[s.arr]<<11 | regs, nil
	case name == "mov" && d.kind == lane && s.kind == general && (d.arr == "d") == (s.arr == "x"):
		return 0x4e001c00 | imm5(laneSize[d.arr], d.n) | regs, nil
	case name == "umov" && d.kind == general && s.kind == lane && (d.arr == "x") == (s.arr == "d"):
		w := uint32(0x0e003c00)
		if d.arr == "x" {
			w |= 1 << 30
		}
		return w | imm5(laneSize[s.arr], s.n) | regs, nil
	case name == "smov" && d.kind == general && s.kind == lane && d.arr == "x" && s.arr != "d":
		return 0x4e002c00 | imm5(laneSize[s.arr], s.n) | regs, nil
	case name == "fmov" && d.arr == "w" && s.arr == "s":
		return 0x1e260000 | regs, nil
	case name == "fmov" && d.arr == "s" && s.arr == "w":
		return 0x1e270000 | regs, nil
	case name == "fmov" && d.arr == "x" && s.arr == "d" && s.kind == scalar:
		return 0x9e660000 | regs, nil
	case name == "fmov" && d.arr == "d" && s.arr == "x" && d.kind == scalar:
		return 0x9e670000 | regs, nil
	case name == "fmov" && d.arr == "s" && s.arr == "s" && d.kind == scalar && s.kind == scalar:
		return 0x1e204000 | regs, nil
	}
	return 0, errOperands
}

func encodeOdd(name string, o []Operand) (uint32, error) {
	switch {
	case name == "movi" && len(o) == 2 && o[0].kind == vector && o[1].kind == immediate && o[1].n >= 0 && o[1].n < 256:
		mode, ok := map[string]uint32{"16b": 14, "8h": 8, "4s": 0}[o[0].arr]
		if n := uint32(o[1].n); ok {
			return 0x4f000400 | mode<<12 | n>>5<<16 | n&31<<5 | uint32(o[0].reg), nil
		}
	case name == "ext" && len(o) == 4 && o[0].arr == "16b" && o[1].arr == "16b" && o[2].arr == "16b" && o[3].n < 16:
		return 0x6e000000 | uint32(o[2].reg)<<16 | uint32(o[3].n)<<11 | uint32(o[1].reg)<<5 | uint32(o[0].reg), nil
	case name == "tbl" && len(o) == 3 && o[0].arr == "16b" && o[1].arr == "16b" && o[2].arr == "16b":
		return 0x4e000000 | uint32(o[2].reg)<<16 | uint32(o[1].reg)<<5 | uint32(o[0].reg), nil
	}
	return 0, errOperands
}

// encodeMemory enters loads and stores: one register, two, or one value to all lanes.
func encodeMemory(name string, o []Operand) (uint32, error) {
	at := o[len(o)-1]
	base := uint32(at.reg) << 5
	if name == "ld1r" && len(o) == 2 && o[0].kind == vector && at.kind == memory && at.n == 0 {
		l := lanesOf[o[0].arr]
		return 0x0d40c000 | l.full<<30 | l.size<<10 | base | uint32(o[0].reg), nil
	}
	size, ok := laneSize[o[0].arr]
	if !ok || o[0].kind != scalar {
		return 0, errOperands
	}
	load := map[string]uint32{"ldr": 1, "str": 0, "ldur": 1, "stur": 0, "ldp": 1, "stp": 0}[name]
	to := base | uint32(o[0].reg)
	step := 1 << size
	switch {
	case (name == "ldp" || name == "stp") && len(o) == 3 && o[1].arr == o[0].arr && size >= 2 && at.kind != indexed:
		if at.n%step != 0 || at.n < -64*step || at.n >= 64*step {
			return 0, fmt.Errorf("offset out of range")
		}
		w := uint32(0x2d000000)
		if at.kind == post {
			w = 0x2c800000
		}
		return w | (size-2)<<30 | load<<22 | uint32(at.n/step)&127<<15 | uint32(o[1].reg)<<10 | to, nil
	case len(o) != 2 || name == "ldp" || name == "stp":
		return 0, errOperands
	}
	w := 0x3c000000 | size&3<<30 | size>>2<<23 | load<<22
	plain := name == "ldr" || name == "str"
	switch {
	case plain && at.kind == indexed:
		return w | 0x00206800 | uint32(at.n)<<16 | to, nil
	case plain && at.kind == post && at.n >= -256 && at.n < 256:
		return w | 0x400 | uint32(at.n)&511<<12 | to, nil
	case plain && at.kind == memory && at.n >= 0 && at.n%step == 0 && at.n/step < 4096:
		return w | 0x01000000 | uint32(at.n/step)<<10 | to, nil
	case (name == "ldur" || name == "stur") && at.kind == memory && at.n >= -256 && at.n < 256:
		return w | uint32(at.n)&511<<12 | to, nil
	}
	return 0, fmt.Errorf("offset out of range")
}
