# Each example is a script, as a user would write it, that the tests run.

EXTRA_DIST += \
	%D%/a9a/model.ps \
	%D%/a9a/run \
	%D%/avengers/model.ps \
	%D%/avengers/run \
	%D%/cross/cross.py \
	%D%/cross/model.ps \
	%D%/cross/run \
	%D%/fm/model.ps \
	%D%/fm/run \
	%D%/gan/gan.py \
	%D%/gan/run \
	%D%/hybrid/model.ps \
	%D%/hybrid/run \
	%D%/images/images.py \
	%D%/images/run \
	%D%/jax/digits.py \
	%D%/jax/run \
	%D%/mnist/model.ps \
	%D%/mnist/run \
	%D%/numpy/a9a.py \
	%D%/numpy/avengers.py \
	%D%/numpy/cross.py \
	%D%/numpy/fm.py \
	%D%/numpy/mnist.py \
	%D%/numpy/wide-deep.py \
	%D%/torch/digits.py \
	%D%/torch/run \
	%D%/torch-clicks/clicks.py \
	%D%/torch-clicks/run \
	%D%/tower/model.ps \
	%D%/tower/run \
	%D%/tower/tower.py \
	%D%/wide-deep/clicks \
	%D%/wide-deep/model.ps \
	%D%/wide-deep/run

# What programs of users import.
dist_pkgdata_DATA += %D%/jax/pskit_jax.py
dist_pkgdata_DATA += %D%/numpy/pskit_numpy.py
dist_pkgdata_DATA += %D%/torch/pskit_torch.py
