
import numpy as np, polars as pl
r=np.random.default_rng(0)
def votes(n,m,prompts=2000,ties=True):
    s=np.linspace(0,2,m); a=r.integers(0,m,n); b=(a+r.integers(1,m,n))%m
    w=np.where(r.random(n)<1/(1+np.exp(s[b]-s[a])),'model_a','model_b')
    w=np.where(r.random(n)<.1,'both_bad' if ties else 'tie',w)
    return pl.DataFrame({'model_a':[f'm{i}' for i in a],'model_b':[f'm{i}' for i in b],'winner':w,'prompt_id':[f'p{i}' for i in r.integers(0,prompts,n)],'rater_id':[f'r{i}' for i in r.integers(0,3000,n)],'side_a_shown':np.where(r.random(n)<.5,'left','right'),'len':r.normal(size=n)})
