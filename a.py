import sys, polars as pl, time
from salon_store import ResultStore
def votes(n,p): return pl.DataFrame({"battle_id":[f"{p}{i}" for i in range(n)]}).with_columns(model_a=pl.lit("flux"),model_b=pl.lit("sdxl"),winner=pl.lit("tie"),rater_id=pl.lit("ann"),mode=pl.lit("public"))
if __name__=="__main__":
    for u in sys.argv[1:]:
        try:
            s=ResultStore.open(u); s.append("battles",votes(5,"a"),run_id="r 1%#/x"); print(repr(u),"ok",s.sql("select count(*) from battles").item(), s.verify().problems, ResultStore.open(u,read_only=True,work="/tmp/h/w2").read("battles").collect().height)
        except Exception as e: print(repr(u),type(e).__name__,str(e)[:400])
