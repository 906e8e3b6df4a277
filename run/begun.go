package run

// asBegun fills in the keys that the configuration of a resumed run leaves unset, from the
// settings in its folder dir. Defaults computed again could differ from these: a pretrained
// start holds out a validation part, and its features choose the positives.
func (c *Config) asBegun(dir string) {
	f, err := Open(dir)
	if err != nil {
		return // taking the folder will say it
	}
	was, err := f.Config()
	if err != nil {
		return // likewise
	}
	for i := range keys {
		k := &keys[i]
		if k.begun != nil && k.unset(c) && k.begun(c, &was) && !k.unset(&was) {
			k.put(c, k.value(&was))
		}
	}
}

// always is the begun of keys for which zero means that the data or the start decide.
func always(_, _ *Config) bool { return true }

// sameSampler is the begun of keys that the sampler fills in.
func sameSampler(now, was *Config) bool { return now.Sample.Name == was.Sample.Name }

// fromWeights is the begun of keys for which zero is a value in a run from scratch: no
// limit on the epochs.
func fromWeights(_, was *Config) bool { return was.Network.pretrained() }
