package neon

// Load fills the registers, an even number of them, from where p points, and moves p on.
func (k *Func) Load(p R, v ...V) { k.move("ldp", p, v) }

// Store is the way back.
func (k *Func) Store(p R, v ...V) { k.move("stp", p, v) }

func (k *Func) move(name string, p R, v []V) {
	for i := 0; i < len(v); i += 2 {
		k.Op(name, v[i].Q(), v[i+1].Q(), Post(p, 32))
	}
}

// Loop ends a loop: n counts what is left, down to 0.
func (k *Func) Loop(n R, label string) {
	k.Go("SUB $1, %v", n)
	k.Go("CBNZ %v, %s", n, label)
}
