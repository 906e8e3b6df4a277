package run

// asBegun fills in what the configuration of a resumed run leaves open by what the run
// was begun with, as its folder dir says. The defaults of a resumed run would be others than
// those that it was begun with: a pretrained start cuts a validation part off, and its
// features decide about the positives.
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

// always is the begun of a key whose zero leaves it to the data or the start.
func always(_, _ *Config) bool { return true }

// sameSampler is that of a key which the sampler fills in.
func sameSampler(now, was *Config) bool { return now.Sample.Name == was.Sample.Name }

// fromWeights is that of a key whose zero is a value from scratch: there it is no limit on
// the epochs.
func fromWeights(_, was *Config) bool { return was.Network.pretrained() }
