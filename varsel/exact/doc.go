// Package exact has the closed forms of the normal linear model. Given the noise scale the
// posterior is normal. One integral is numerical: over the noise scale or g of a g-prior.
package exact
