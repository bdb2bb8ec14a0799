# A program is one file over the library, or a script.

bin_PROGRAMS += %D%/ps-ckpt
bin_PROGRAMS += %D%/ps-coord
bin_PROGRAMS += %D%/ps-eval
bin_PROGRAMS += %D%/ps-serve
bin_PROGRAMS += %D%/ps-work

# These compute no model.
%C%_ps_ckpt_LDADD = $(PS_LIBS)
%C%_ps_coord_LDADD = $(PS_LIBS)
%C%_ps_serve_LDADD = $(PS_LIBS)

dist_bin_SCRIPTS += %D%/ps-local
dist_bin_SCRIPTS += %D%/ps-node
