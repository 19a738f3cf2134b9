// Package exact has the closed forms of the normal linear model. Given the noise scale the
// posterior is normal; an integral over one parameter remains, the noise scale or g of a g-prior.
package exact
